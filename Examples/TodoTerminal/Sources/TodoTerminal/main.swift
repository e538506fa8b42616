import Foundation
import PowerSync

// TodoTerminal USER FOLDER: a to-do list. BACKEND and SYNC say where the backend and the sync service are.
// Commands come from the terminal; from a pipe, they are done one after the other, and the last screen is printed.
let arguments = Array(CommandLine.arguments.dropFirst())
let environment = ProcessInfo.processInfo.environment
guard arguments.count == 2, let backend = URL(string: environment["BACKEND"] ?? "http://127.0.0.1:8081") else {
    print("usage: TodoTerminal USER FOLDER")
    exit(64)
}
let account = Account(user: arguments[0], backend: backend, sync: environment["SYNC"] ?? "http://127.0.0.1:8080")
let device = try Device(account, folder: URL(filePath: arguments[1]))
let isTerminal = isatty(STDIN_FILENO) == 1

// The screen follows the database.
let drawing = Task { @MainActor in
    var shown = ""
    while isTerminal && !Task.isCancelled {
        shown = await Observed.first({ "\(device.text)\n\n\(device.note)\n" }, where: { [shown] in $0 != shown })
        FileHandle.standardOutput.write(Data("\u{1B}[2J\u{1B}[H\(shown)\(Command.help)\n> ".utf8))
    }
}

/// Lines as they are typed.
let lines = AsyncStream<String> { continuation in
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
}

try await device.connect()
for await line in lines {
    do {
        guard let command = try Command.parse(line) else { continue }
        device.note = ""
        guard try await device.run(command) else { break }
    } catch {
        device.note = "\(error)"
        if !isTerminal {
            print("\(line): \(error)")
            exit(1)
        }
    }
}
drawing.cancel()
print(device.text)
try await device.close()

import Foundation
import TestSupport

/// The `powersync` command as a child process that can be listened to and sent signals.
final class RunningCommand {
    /// Everything that it has said so far, on both outputs.
    private(set) var said: [String] = []
    private let process = Process()
    private var lines: AsyncStream<String>.Iterator
    private let exits: AsyncStream<Void>

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - arguments: What follows its name.
    ///   - environment: Variables that are added to those of this process.
    /// - Throws: An error of `Process`.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "powersync")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        self.exits = exits
        process.terminationHandler = { _ in exit.finish() }
        lines = output.fileHandleForReading.lines().makeAsyncIterator()
        try process.run()
    }

    deinit {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits until it has said each of these texts, in any order, since the last call.
    ///
    /// - Throws: ``Ended``.
    func wait(for texts: String...) async throws {
        var missing = texts
        while !missing.isEmpty {
            guard let line = await lines.next(isolation: #isolation) else { throw Ended(expected: missing, said: said) }
            said.append(line)
            missing.removeAll { line.contains($0) }
        }
    }

    /// Sends a signal, if it runs: somebody else may have the number of a process that has ended.
    func signal(_ signal: Int32) {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, signal)
    }

    /// Waits for its end.
    ///
    /// - Returns: Its status; the number of the signal that has killed it.
    func waitForExit() async -> Int32 {
        while let line = await lines.next(isolation: #isolation) { said.append(line) }
        for await _ in exits {}
        return process.terminationStatus
    }

    /// The number of its process.
    var processIdentifier: Int32 { process.processIdentifier }

    /// Whether it runs.
    var isRunning: Bool { process.isRunning }

    /// The command ended before it said what was expected.
    struct Ended: Error {
        let expected: [String]
        let said: [String]
    }
}

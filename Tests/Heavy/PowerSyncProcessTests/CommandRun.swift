import Foundation
import TestSupport

/// What a command printed, and its exit status.
struct CommandRun {
    var status: Int32
    var text: String
    var errors: String

    /// Runs the `powersync` command beside the tests.
    ///
    /// - Parameters:
    ///   - arguments: What follows its name.
    ///   - folder: Where it runs.
    ///   - environment: Variables that are added to those of this process.
    ///   - input: What it reads, less than a pipe holds; by default what this process reads.
    /// - Throws: An error of starting it.
    init(
        _ arguments: [String],
        in folder: TemporaryFolder,
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "powersync")
        process.arguments = arguments
        process.currentDirectoryURL = URL(filePath: folder.path(""))
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        }
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        var lines: [String] = []
        for await line in output.fileHandleForReading.lines() { lines.append(line) }
        var problems: [String] = []
        for await line in errors.fileHandleForReading.lines() { problems.append(line) }
        for await _ in exits {}
        status = process.terminationStatus
        text = lines.joined(separator: "\n")
        self.errors = problems.joined(separator: "\n")
    }
}

import Foundation
import TestSupport

/// A line that somebody has pasted into a shell, where `powersync` is the command that was built with the tests.
final class ShellLine {
    private let process = Process()
    private var output: AsyncStream<String>.Iterator
    private let exits: AsyncStream<Void>

    /// Starts a line, of which the last command takes the place of the shell.
    ///
    /// - Parameters:
    ///   - commands: The commands, one after the other.
    ///   - folder: Where they run.
    /// - Throws: An error of starting the shell.
    init(_ commands: String..., in folder: URL) throws {
        let last = commands.last ?? ""
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", (commands.dropLast() + ["exec \(last)"]).joined(separator: " && ")]
        process.currentDirectoryURL = folder
        let built = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path(percentEncoded: false)
        let environment = ProcessInfo.processInfo.environment
        process.environment = environment.merging(["PATH": "\(built):\(environment["PATH"] ?? "")"]) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        self.exits = exits
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        output = pipe.fileHandleForReading.lines().makeAsyncIterator()
    }

    /// The number of its process.
    var processIdentifier: Int32 { process.processIdentifier }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for a line of the output.
    ///
    /// - Parameter isExpected: Whether it is the one.
    /// - Returns: All lines from the last call to that one, or to the end of the output if it did not come.
    func lines(until isExpected: (String) -> Bool = { _ in false }) async -> [String] {
        var lines: [String] = []
        while let line = await output.next(isolation: #isolation) {
            lines.append(line)
            if isExpected(line) { break }
        }
        return lines
    }

    /// Sends a signal unless it has ended, and waits for its end.
    ///
    /// - Parameter signal: SIGKILL for programs that do not handle signals: SIGTERM is blocked on the threads of tests, and
    ///   what they start inherits that.
    /// - Returns: The exit status.
    @discardableResult
    func end(by signal: Int32 = SIGTERM) async -> Int32 {
        if process.isRunning { kill(process.processIdentifier, signal) }
        for await _ in exits {}
        return process.terminationStatus
    }
}

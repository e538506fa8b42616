import Foundation

/// A `LocalDatabaseWorker` in a process of its own.
package final class WorkerProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let lines: AsyncStream<String>
    private let exits: AsyncStream<Void>

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - argument: What it does: the text of a `WorkerTask`.
    ///   - command: The shell command that the worker's path and argument follow, which limits its means: `ulimit -n 64; exec`
    ///     for example.
    /// - Throws: When the process cannot be started.
    package init(argument: String, by command: String? = nil) throws {
        // The test bundle and the worker are built into the same folder.
        let worker = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "LocalDatabaseWorker")
        if let command {
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", command + #" "$0" "$@""#, worker.path, argument]
        } else {
            process.executableURL = worker
            process.arguments = [argument]
        }
        process.standardInput = input
        process.standardOutput = output
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        self.exits = exits
        process.terminationHandler = { _ in exit.finish() }
        lines = output.fileHandleForReading.lines()
        try process.run()
    }

    deinit {
        if process.isRunning { process.terminate() }
        try? input.fileHandleForWriting.close()
    }

    /// What the worker says next; `nil` when it has ended.
    package func nextLine() async -> String? {
        var iterator = lines.makeAsyncIterator()
        return await iterator.next()
    }

    /// Waits until the worker has said something.
    package func wait(for line: String) async throws {
        while let said = await nextLine() {
            if said == line { return }
        }
        throw Ended(expected: line)
    }

    /// What the worker says from now on until it ends.
    package func remainingLines() async -> [String] {
        var remaining: [String] = []
        while let line = await nextLine() { remaining.append(line) }
        return remaining
    }

    /// Lets a worker that waits begin.
    package func begin() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    }

    /// Waits until the process has ended by itself.
    ///
    /// - Returns: Its status, 0 for success.
    package func waitForExit() async -> Int32 {
        for await _ in exits {}
        return process.terminationStatus
    }

    /// `kill -9`; returns when the process is gone.
    package func kill() async {
        Foundation.kill(process.processIdentifier, SIGKILL)
        for await _ in exits {}
    }

    /// The worker ended before it said what was expected.
    package struct Ended: Error {
        package let expected: String
    }
}

package import Foundation

/// A program that ends with the process of the tests, however that ends.
///
/// It is killed by SIGKILL: a program inherits which signals are blocked, and the threads of tests have all of them blocked.
package final class DependentProcess: Sendable {
    private let process = Process()
    /// Open as long as the process of the tests lives.
    private let life = Pipe()
    private let words = Pipe()

    /// A script of the shell: becomes a program, which is killed when nobody has the other end of the standard input any more.
    private static let script = """
        exec 3<&0
        (exec >/dev/null 2>&1; read -r line <&3; kill -KILL $$) &
        exec 3<&-
        exec "$0" "$@" </dev/null
        """

    /// Starts a program with neither input nor standard output.
    ///
    /// - Parameters:
    ///   - command: The path of the program and its arguments.
    ///   - environment: Variables besides those of the tests.
    /// - Throws: An error of starting the shell.
    package init(_ command: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", Self.script] + command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = life
        process.standardOutput = FileHandle.nullDevice
        process.standardError = words
        try process.run()
    }

    /// What it says on standard error.
    package var output: FileHandle { words.fileHandleForReading }

    /// Kills it unless it has ended, and waits for its end.
    package func end() {
        // The shell beside it kills it, and ends: as long as one of them is there, Foundation takes the process for running.
        try? life.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

import ArgumentParser
import Foundation
import PowerSyncTerminal

/// Runs the command of a program, and prints an error as everything else is printed: without what a terminal would obey.
extension AsyncParsableCommand {
    /// Parses the arguments, runs the command, and ends the process.
    static func runAndExit() async -> Never {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let (text, code) = (fullMessage(for: error), exitCode(for: error))
            if code.isSuccess {
                // Help, and the version.
                try? StandardOutput.print(text)
            } else if !text.isEmpty {
                printToStandardError(text)
            }
            Foundation.exit(code.rawValue)
        }
        Foundation.exit(EXIT_SUCCESS)
    }
}

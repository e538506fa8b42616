package import ArgumentParser
import Foundation
import PowerSyncTerminal

/// `powersync inspect app.db`: says what is in a client's database file, and why it does not sync.
package struct InspectCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Look at the database file of a client: what it has, what it waits for, what is damaged.",
        discussion: """
            Reads the file without changing it, also while an app uses it. The report has names and ids, and no values of \
            rows unless --rows asks for them. Exits with 0 when nothing is damaged, with 1 when something is, with 2 when the \
            file cannot be read as a client's database.
            """
    )

    /// The exit status for a file that is no readable database of a client.
    private static let unreadable = ExitCode(2)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(help: "Show writes of the upload queue with their values, as they are stored.")
    var rows = false

    package init() {}

    package func run() async throws {
        let report: DatabaseReport
        do {
            report = try Inspection.report(of: ClientFile(path: file), showsRows: rows)
        } catch let error as ClientFileError {
            if json {
                let document = try JSONEncoder.forReports.encode(["error": error])
                try StandardOutput.print(String(decoding: document, as: UTF8.self))
            } else {
                printToStandardError(TerminalText.line("Error: \(error.message)."))
            }
            throw Self.unreadable
        }
        if json { try StandardOutput.print(report.json()) } else { try StandardOutput.print(lines: report.lines) }
        guard !report.isDamaged else { throw ExitCode.failure }
    }
}

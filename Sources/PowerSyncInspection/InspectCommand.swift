package import ArgumentParser
import Foundation
import PowerSyncSQLite
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

    @Option(
        help: """
            The key of an encrypted database: a passphrase, or 64 or 96 hexadecimal digits after 'hex:'. Other users of the machine may \
            see it: better --key-file.
            """
    )
    var key: String?

    @Option(name: .customLong("key-file"), help: "A file with the key of an encrypted database.", completion: .file())
    var keyFile: String?

    @OptionGroup var output: OutputOptions

    @Flag(help: "Show writes of the upload queue with their values, as they are stored.")
    var rows = false

    package init() {}

    /// The key that was given.
    func givenKey() throws(ClientFileError) -> CipherKey? {
        var text = key
        if let keyFile {
            guard let content = try? String(contentsOfFile: keyFile, encoding: .utf8) else {
                throw ClientFileError(.unreadable, "\(keyFile) cannot be read as a text; check its permissions")
            }
            // An editor ends the line.
            text = content.hasSuffix("\n") ? String(content.dropLast()) : content
        }
        guard let text else { return nil }
        do throws(CipherKey.Unusable) {
            guard text.hasPrefix("hex:") else { return try CipherKey(passphrase: text) }
            guard let bytes = Self.bytes(text.dropFirst(4)) else {
                throw CipherKey.Unusable(reason: "has something else than hexadecimal digits after 'hex:'")
            }
            return try CipherKey(bytes: bytes)
        } catch {
            throw ClientFileError(.unusableKey, "The key \(error.reason)")
        }
    }

    /// The bytes of hexadecimal digits; `nil` when there are others.
    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let values = digits.compactMap(\.hexDigitValue)
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }

    package func run() async throws {
        let report: DatabaseReport
        do {
            report = try Inspection.report(of: ClientFile(path: file, key: givenKey()), showsRows: rows)
        } catch let error as ClientFileError {
            switch output.format {
            case .text: printToStandardError(TerminalText.line("Error: \(error.message)."))
            case .json:
                let document = try JSONEncoder.forReports.encode(["error": error])
                try StandardOutput.print(String(decoding: document, as: UTF8.self))
            }
            throw Self.unreadable
        }
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(report.json())
        }
        guard !report.isDamaged else { throw ExitCode.failure }
    }
}

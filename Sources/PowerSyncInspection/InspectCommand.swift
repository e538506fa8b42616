package import ArgumentParser
import Foundation
import PowerSyncSQLite
import PowerSyncTerminal

/// `powersync inspect app.db`: says what is in a client's database file, and why it does not sync; `powersync inspect --app SOCKET`: the same
/// of an app that runs.
package struct InspectCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract:
            "Look at the database file of a client, or into a running app: what it has, what it waits for, what is damaged.",
        discussion: """
            Reads the file without changing it, also while an app uses it. The report has names and ids, and no values of \
            rows unless --rows asks for them. Exits with 0 when nothing is damaged, with 1 when something is, with 2 when the \
            file cannot be read as a client's database.

            With --app it asks an app that listens for inspection, and prints its status. Exits with 1 when the app refuses what \
            is asked, with 2 when no app answers.
            """
    )

    /// The exit status for a file that is no readable database of a client, and for a socket at which no app answers.
    private static let unreadable = ExitCode(2)

    @Argument(help: "The database file.", completion: .file())
    var file: String?

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

    @OptionGroup(title: "A running app") var app: AppOptions

    package init() {}

    package mutating func validate() throws {
        guard (file == nil) != (app.app == nil) else {
            throw ValidationError("Name the database file, or with --app the socket of a running app.")
        }
        guard app.app == nil || (key == nil && keyFile == nil && !rows) else {
            throw ValidationError("--key, --key-file and --rows are for a file: the app has opened its own.")
        }
    }

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
        if let path = app.app {
            try await inspect(RunningApp(path: path))
        } else if let file {
            try inspect(file: file)
        }
    }

    private func inspect(file: String) throws {
        let report: DatabaseReport
        do {
            report = try Inspection.report(of: ClientFile(path: file, key: givenKey()), showsRows: rows)
        } catch let error as ClientFileError {
            try say(error, error.message)
            throw Self.unreadable
        }
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(report.json())
        }
        guard !report.isDamaged else { throw ExitCode.failure }
    }

    private func inspect(_ running: RunningApp) async throws {
        do {
            guard app.mcp else {
                let format = output.format
                try await AppInspection(app: running, request: try app.request(), format: format) { lines in
                    try StandardOutput.print(lines: lines)
                }.run()
                return
            }
            let answers = ModelContextProtocol(allowsSubscriptions: app.allowsSubscriptions) {
                try await running.ask($0)
            }
            var lines = StandardInputLines()
            while let line = try await lines.next() {
                if let answer = await answers.answer(line) { try StandardOutput.write(answer + "\n") }
            }
        } catch let error as RunningAppError {
            try say(error, error.message)
            throw error.code == .refused ? ExitCode.failure : Self.unreadable
        }
    }

    /// Says why there is nothing to print.
    private func say(_ error: some Encodable, _ message: String) throws {
        switch output.format {
        case .text: printToStandardError(TerminalText.line("Error: \(message)."))
        case .json:
            let document = try JSONEncoder.forReports.encode(["error": error])
            try StandardOutput.print(String(decoding: document, as: UTF8.self))
        }
    }
}

import ArgumentParser
import Foundation
import PowerSyncClient
import PowerSyncOperations
import PowerSyncProtocol
import PowerSyncService
import PowerSyncTerminal

/// `powersync seed --user u1 --output client.db`: makes a file that clients of a user begin with.
struct SeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "Make a file with the rows of a user, which apps begin with instead of downloading them.",
        discussion: """
            Syncs with a running service as a client does, and writes one file at a complete checkpoint. An app gives it to \
            PowerSyncDatabase(schema:seedFile:), and downloads only what came later. The file has all rows that the user may see, and \
            no other user can use it.

              powersync seed --user u1 --output client.db
              powersync seed --token "$TOKEN" --endpoint https://sync.example.org --output client.db

            With --user it signs a token as powersync token does, and asks the service of the configuration unless --endpoint names \
            another address of it. An older seed is replaced when the new one is complete; another file is not.
            """
    )

    @Option(help: "The user id, the `sub` claim of the token that is signed.")
    var user: String?

    @Option(
        help: ArgumentHelp(
            "Another claim of the token that is signed; the value is JSON, or else a text. May be repeated.",
            valueName: "name=value"
        )
    )
    var claim: [String] = []

    @Option(
        help: "A token of the user, instead of --user; other users of this machine can see it while the command runs."
    )
    var token: String?

    @Option(help: "The address of the service; by default that of the configuration on this machine.")
    var endpoint: String?

    @Option(help: "The file to write.", completion: .file())
    var output: String

    @Option(
        help: ArgumentHelp(
            """
            A stream to subscribe to, beside those that every client gets; its parameters are a JSON object. May be repeated.
            """,
            valueName: "name[={…}]"
        )
    )
    var stream: [String] = []

    @Option(
        help: ArgumentHelp(
            "A parameter of the client that the sync config reads; the value is JSON, or else a text. May be repeated.",
            valueName: "name=value"
        )
    )
    var parameter: [String] = []

    @Option(
        help: """
            The schema of the app as JSON, what JSONEncoder makes of a Schema: its indexes and direct tables are made now, and not when an \
            app opens the file.
            """,
        completion: .file(extensions: ["json"])
    )
    var schema: String?

    @Option(help: "The longest time to wait for a complete checkpoint, in seconds.")
    var timeout: Int = 3600

    @OptionGroup var config: ConfigurationOptions

    func validate() throws {
        guard (user == nil) != (token == nil) else {
            throw ValidationError("Whose rows? Give either --user or --token")
        }
        guard token == nil || claim.isEmpty else {
            throw ValidationError("--claim is for a token that is signed, with --user")
        }
        guard (1...31_536_000).contains(timeout) else {
            throw ValidationError("--timeout is a number of seconds from 1 to 31536000, got \(timeout)")
        }
        guard !output.isEmpty else { throw ValidationError("--output is empty") }
        _ = try streams
    }

    /// The streams with their parameters.
    private var streams: [(name: String, parameters: JsonParam?)] {
        get throws {
            try stream.map { text in
                let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { return (text, nil) }
                guard case .object(let object)? = try? ExactJSON(parsing: String(parts[1])) else {
                    throw ValidationError("--stream \(text): what follows the = is no JSON object")
                }
                return (String(parts[0]), JsonParam(object))
            }
        }
    }

    func run() async throws {
        let configuration = user == nil && endpoint != nil ? nil : try config.read()
        guard let endpoint = endpoint ?? configuration?.localURL else { return }
        let signed = try user.flatMap { user in
            try configuration?.makeDevelopmentToken(
                userID: user,
                claims: JSONObject(pairs: claim, option: "--claim"),
                lifetime: .seconds(12 * 3600)
            )
        }
        guard let token = signed ?? token else { return }
        let path = URL(fileURLWithPath: output).path
        var maker = SeedMaker(endpoint: endpoint, token: token, output: path)
        maker.streams = try streams
        maker.parameters = JsonParam(try JSONObject(pairs: parameter, option: "--parameter"))
        maker.schema = try schema.map { file in
            guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw UnreadableFile("\(file) cannot be read as a text; check its permissions")
            }
            return text
        }
        maker.timeout = .seconds(timeout)
        maker.logger = DefaultLogger(minSeverity: .warning, writers: [ErrorOutputWriter()])
        do {
            let made = try await maker.run()
            try StandardOutput.print(lines: [
                "\(output): \(made.rows.counted("row")), \(ByteCount.text(made.bytes))"
            ])
        } catch let error as PowerSyncError {
            throw UnreadableFile(error.localizedDescription)
        }
    }
}

/// Writes what the client says to standard error, so that standard output has the result alone.
private struct ErrorOutputWriter: LogWriterProtocol {
    func log(severity: LogSeverity, message: String, tag: String?) {
        printToStandardError(TerminalText.line(message))
    }
}

import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncSyncConfig
import PowerSyncTerminal

/// `powersync validate sync.yaml`: compiles a sync config and prints what is wrong with it, and what it does.
struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a sync config (the YAML file with `streams`) without deploying it.",
        discussion: """
            Prints every finding as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE], with the line below it. Exits with 0 when \
            the config can be deployed (warnings are allowed), with 1 when it can not.

            --explain shows which rows and which values of a request lead to which buckets. --as USER shows the buckets and \
            the number of rows that a user would get from the database at --source:

              powersync validate sync.yaml --source app.db --as u1 --param device=phone --subscribe 'archive={"year":2024}'
              PGPASSWORD=… powersync validate sync.yaml --source postgresql://me@db.example.com/app --as u1
            """
    )

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(
        help: "The tables of the source: a SQLite database, or a file of CREATE TABLE statements. Adds warnings.",
        completion: .file()
    )
    var schema: String?

    @Option(
        help: """
            The database whose rows --as reads; it is the schema, too: a SQLite file, postgresql://user@host:5432/database, or - for an \
            address on standard input. A password is taken from PGPASSWORD or ~/.pgpass.
            """,
        completion: .file()
    )
    var source: String?

    @Flag(help: "Show which rows and which values of a request lead to which buckets.")
    var explain = false

    @OptionGroup(title: "What a user gets")
    var client: ClientOptions

    @Option(help: "Print text, or one JSON object.")
    var format: OutputFormat = .text

    func validate() throws {
        if client.user != nil, source == nil {
            throw ValidationError("--as needs --source, the database whose rows the user would get")
        }
    }

    func run() async throws {
        let text: String
        do {
            text = String(decoding: try Data(contentsOf: URL(filePath: config)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(config) cannot be read; check that it exists")
        }
        let database = try source.map { try SourceDatabase(SourceArgument($0)) }
        defer { database?.close() }
        var tables = try schema.map { try SourceSchema(contentsOf: $0) }
        if tables == nil { tables = try await database?.schema() }
        let result = SyncConfig.parse(text, schema: tables)
        var report = ValidationReport(result)
        if let plan = result.plan {
            try client.checkSubscriptions(to: plan)
            if explain { report.explanations = plan.explanations }
            if let user = client.user, let database {
                report.client = try await ClientReport(user, try client.request(), of: plan, from: database)
            }
        }
        switch format {
        case .text:
            for diagnostic in result.diagnostics { try StandardOutput.print(lines: diagnostic.lines(file: config)) }
            for explanation in report.explanations ?? [] { try StandardOutput.print(lines: explanation.lines) }
            if let client = report.client { try StandardOutput.print(lines: client.lines) }
            if let plan = result.plan {
                try StandardOutput.print(lines: ["\(config): \(plan.streams.count) streams, ready to deploy"])
            }
        case .json:
            try StandardOutput.print(report.json())
        }
        guard result.isUsable, report.client?.error == nil else { throw ExitCode.failure }
    }
}

/// The findings about a config as JSON, for tools.
private struct ValidationReport: Encodable {
    /// One finding.
    struct Finding: Encodable {
        var level: String
        var code: String
        var line: Int
        var column: Int
        var message: String
        var hint: String?
    }

    /// Whether the config can be deployed.
    var accepted: Bool
    /// All findings in the order of the file.
    var findings: [Finding]
    /// What leads to buckets, if that was asked for.
    var explanations: [StreamExplanation]?
    /// What a user gets, if that was asked for.
    var client: ClientReport?

    init(_ result: SyncConfigResult) {
        accepted = result.isUsable
        findings = result.diagnostics.map { diagnostic in
            Finding(
                level: diagnostic.severity.rawValue,
                code: diagnostic.code,
                line: diagnostic.line,
                column: diagnostic.column,
                message: diagnostic.message,
                hint: diagnostic.hint
            )
        }
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

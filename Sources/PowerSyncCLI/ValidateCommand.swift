import ArgumentParser
import Foundation
import PowerSyncRules

/// `powersync validate sync.yaml`: compiles a sync config and prints what is wrong with it.
struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a sync config (the YAML file with `streams`) without deploying it.",
        discussion: """
            Prints every finding as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE], with the line below it. Exits with 0 when \
            the config can be deployed (warnings are allowed), with 1 when it can not.
            """
    )

    /// How findings are printed.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(
        help: "The tables of the source: a SQLite database, or a file of CREATE TABLE statements. Adds warnings.",
        completion: .file()
    )
    var schema: String?

    @Option(help: "Print findings as text, or as one JSON object.")
    var format: Format = .text

    func run() async throws {
        let text: String
        do {
            text = try String(contentsOfFile: config, encoding: .utf8)
        } catch {
            throw ValidationError("cannot read \(config): \(error.localizedDescription)")
        }
        let result = SyncConfig.parse(text, schema: try sourceSchema())
        switch format {
        case .text:
            for diagnostic in result.diagnostics { print(diagnostic.rendered(file: config)) }
            if let plan = result.plan { print("\(config): \(plan.streams.count) streams, ready to deploy") }
        case .json:
            print(try ValidationReport(result).json())
        }
        guard result.isUsable else { throw ExitCode.failure }
    }

    private func sourceSchema() throws -> SourceSchema? {
        guard let schema else { return nil }
        do {
            return try SourceSchema(contentsOf: schema)
        } catch {
            throw ValidationError("cannot read the schema \(schema): \(error)")
        }
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

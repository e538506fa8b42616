import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncTerminal

/// `powersync validate sync.yaml`: compiles a sync config and prints what is wrong with it, and what it does.
struct ValidateCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "validate",
            abstract: "Check a sync config (the YAML file with `streams`) without deploying it.",
            discussion: """
                Prints every finding as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE], with the line below it. Exits with 0 when \
                the config can be deployed (warnings are allowed), with 1 when it can not.

                What the source of --source or --config cannot replicate is an error: patterns of tables, for instance, that only \
                some kinds of sources know. --config reads the file alone, and asks no database.

                --explain shows which rows and which values of a request lead to which buckets. --as USER shows the buckets and \
                the number of rows that a user would get from the database at --source, or else from that of --config:

                \(SourceArgument.examples((before: "validate sync.yaml", after: " --as u1 --param device=phone")))
                """
        )
    }

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(
        help: ArgumentHelp("\(SchemaOption.help) Adds warnings."),
        completion: .file()
    )
    var schema: String?

    @Option(
        help: ArgumentHelp(
            """
            The database whose rows --as reads; it is the schema, too: \(SourceArgument.forms), or - for an address on standard \
            input.\(SourceArgument.passwordPlaces)
            """
        ),
        completion: .file()
    )
    var source: String?

    @Option(
        name: [.customLong("config"), .customShort("c"), .customLong("config-path")],
        help: "A service configuration: what its source cannot replicate is an error.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var serviceFile: String?

    @Flag(help: "Show which rows and which values of a request lead to which buckets.")
    var explain = false

    @OptionGroup(title: "What a user gets")
    var client: ClientOptions

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if client.user != nil, source == nil, serviceFile == nil {
            throw ValidationError("--as needs --source, the database whose rows the user would get")
        }
    }

    /// Compiles the sync config against what is known of its source.
    ///
    /// - Returns: The result, and the source of --source or --config.
    /// - Throws: `UnreadableFile`, `ServiceError`, or `SourceUnreadable`.
    func check() async throws -> (result: SyncConfigResult, source: (any SourceModule)?) {
        let text: String
        do {
            text = String(decoding: try Data(contentsOf: URL(filePath: config)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(config) cannot be read; check that it exists")
        }
        let configured = try configuredSource()
        let named = try source.map { try SourceArgument.read($0, like: configured) }
        var tables = try schema.map { try SourceSchema(contentsOf: $0) }
        if tables == nil { tables = try await named?.readTables(for: nil).schema }
        let module = named ?? configured
        var patternRefusal: SyncConfig.PatternRefusal?
        if let module { patternRefusal = { module.refusal(of: $0) } }
        return (SyncConfig.parse(text, schema: tables, patternRefusal: patternRefusal), module)
    }

    func run() async throws {
        let (result, module) = try await check()
        var report = ValidationReport(result)
        if let plan = result.plan {
            try client.checkSubscriptions(to: plan)
            if explain { report.explanations = plan.explanations }
            if let user = client.user, let module {
                report.client = try await ClientReport(user, try client.request(), of: plan, from: module)
            }
        }
        switch output.format {
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

    /// The source that --config names, which is not asked.
    private func configuredSource() throws -> (any SourceModule)? {
        guard let serviceFile else { return nil }
        let location = ConfigurationLocation(
            argument: serviceFile,
            environment: ProcessInfo.processInfo.environment,
            modules: CommandModules.current
        )
        return try location.read().source.module
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

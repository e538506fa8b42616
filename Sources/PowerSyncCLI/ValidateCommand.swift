import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncOperations
import PowerSyncProtocol
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
                the number of rows that a user would get from the database at --source, or else from that of --config.

                --running asks the service of --config on this machine, --url one elsewhere, what deploying the config would do with \
                each stream: whether it is kept, read (from which tables, with about how many rows) or removed, and why. Nothing is \
                deployed. The token is one of `api.tokens`: the first of --config, or that of the environment variable PS_ADMIN_TOKEN.

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

    @Flag(help: "Show what the running service of --config would keep, read and remove.")
    var running = false

    @Option(help: "The address of a running service that shows what it would keep, read and remove.")
    var url: String?

    @Flag(help: "Show which rows and which values of a request lead to which buckets.")
    var explain = false

    @OptionGroup(title: "What a user gets")
    var client: ClientOptions

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if client.user != nil, source == nil, serviceFile == nil {
            throw ValidationError("--as needs --source, the database whose rows the user would get")
        }
        if running, url == nil, serviceFile == nil {
            throw ValidationError("--running needs --config, the configuration of the service, or --url instead")
        }
    }

    /// Compiles the sync config against what is known of its source.
    ///
    /// - Returns: The result, and the source of --source or --config.
    /// - Throws: `UnreadableFile`, `ServiceError`, or `SourceUnreadable`.
    func check() async throws -> (result: SyncConfigResult, source: (any SourceModule)?) {
        let text = try text()
        let configured = try configuredSource()
        let named = try source.map { try SourceArgument.read($0, like: configured) }
        var tables = try schema.map { try SourceSchema(contentsOf: $0) }
        if tables == nil { tables = try await named?.readTables(for: nil).schema }
        let module = named ?? configured
        var patternRefusal: SyncConfig.PatternRefusal?
        if let module { patternRefusal = { module.refusal(of: $0) } }
        return (SyncConfig.parse(text, schema: tables, patternRefusal: patternRefusal), module)
    }

    private func text() throws -> String {
        do {
            return String(decoding: try Data(contentsOf: URL(filePath: config)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(config) cannot be read; check that it exists")
        }
    }

    /// Asks a running service what a deployment would do, if that was asked for.
    private func deployment() async throws -> DeploymentReport? {
        guard running || url != nil else { return nil }
        let request = try RunningService.find(at: url) {
            let location = location(of: serviceFile)
            return (try location.read(), location.name)
        }
        do {
            return DeploymentReport(try await request.deployment(of: try text()))
        } catch let error as AdminRequest.UnexpectedAnswer {
            printToStandardError("\(request.address): \(error.description)")
        } catch let error as UnreadableFile {
            throw error
        } catch {
            printToStandardError("\(request.address) does not answer: \(AdminRequest.reason(error))")
        }
        throw StatusCommand.unreachable
    }

    func run() async throws {
        let (result, module) = try await check()
        var report = ValidationReport(result)
        report.notes = Self.notes(result, file: config)
        if let plan = result.plan {
            try client.checkSubscriptions(to: plan)
            if explain { report.explanations = plan.explanations }
            if let user = client.user, let module {
                report.client = try await ClientReport(user, try client.request(), of: plan, from: module)
            }
            report.deployment = try await deployment()
        }
        switch output.format {
        case .text:
            for diagnostic in result.diagnostics { try StandardOutput.print(lines: diagnostic.lines(file: config)) }
            for note in report.notes ?? [] {
                try StandardOutput.print(lines: ["\(config):\(note.line):\(note.column): note: \(note.message)"])
            }
            for explanation in report.explanations ?? [] { try StandardOutput.print(lines: explanation.lines) }
            if let client = report.client { try StandardOutput.print(lines: client.lines) }
            if let deployment = report.deployment {
                try StandardOutput.print(lines: deployment.lines)
            }
            if let plan = result.plan {
                try StandardOutput.print(lines: [
                    "\(config): \(plan.streams.count.counted("stream")), ready to deploy"
                ])
            }
        case .json:
            try StandardOutput.print(report.json())
        }
        guard result.isUsable, report.client?.error == nil else { throw ExitCode.failure }
    }

    /// What is worth knowing about a config that can be deployed, and no warning.
    ///
    /// - Returns: `nil` when there is nothing.
    static func notes(_ result: SyncConfigResult, file: String) -> [ValidationReport.Note]? {
        guard result.isUsable, let place = result.firstDefinition else { return nil }
        return [
            ValidationReport.Note(
                line: place.line,
                column: place.column,
                message: """
                    Bucket definitions work as they are; streams have fewer limits. To write them as streams: \
                    powersync convert \(file.shellWord)
                    """
            )
        ]
    }

    /// The source that --config names, which is not asked.
    private func configuredSource() throws -> (any SourceModule)? {
        guard let serviceFile else { return nil }
        return try location(of: serviceFile).read().source.module
    }

    private func location(of file: String?) -> ConfigurationLocation {
        ConfigurationLocation(
            argument: file,
            environment: ProcessInfo.processInfo.environment,
            modules: CommandModules.current
        )
    }
}

/// The findings about a config as JSON, for tools.
struct ValidationReport: Encodable {
    /// Something worth knowing that is no warning.
    struct Note: Encodable, Equatable {
        var line: Int
        var column: Int
        var message: String
    }

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
    /// What is no warning, if there is something.
    var notes: [Note]?
    /// What leads to buckets, if that was asked for.
    var explanations: [StreamExplanation]?
    /// What a user gets, if that was asked for.
    var client: ClientReport?
    /// What a running service would do, if that was asked for: as its answer says it.
    var deployment: DeploymentReport?

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

import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncTerminal

/// What code for apps is made of: a sync config, and the tables of its source.
struct GenerateInputs: ParsableArguments {
    @Argument(
        help: "The sync config; that of the service configuration if it is left out.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var syncConfig: String?

    @Option(help: ArgumentHelp(SchemaOption.help), completion: .file())
    var schema: String?

    @Option(
        help: ArgumentHelp(
            """
            The database with the tables: \(SourceArgument.forms), or - for an address on standard \
            input.\(SourceArgument.passwordPlaces) In an address, other users of this machine could see it. It is not written into \
            the code.
            """,
            valueName: "uri"
        )
    )
    var source: String?

    @OptionGroup var config: ConfigurationOptions

    func validate() throws {
        if schema != nil, source != nil {
            throw ValidationError("--schema and --source both have the tables; give one of them")
        }
    }

    /// Whether the service configuration is read.
    private var needsConfiguration: Bool {
        config.file != nil || syncConfig == nil || schema == nil && source == nil
    }

    /// Reads the inputs.
    ///
    /// - Throws: `UnreadableFile`, `ServiceError`; `ExitCode` after it has said which database does not answer.
    func read() async throws -> SwiftGeneration {
        let configuration = needsConfiguration ? try readConfiguration() : nil
        let (yaml, name) = try syncConfigText(configuration)
        let named = try source.map { try SourceArgument.read($0, like: configuration?.source.module) }
        return SwiftGeneration(
            yaml: yaml,
            config: name,
            source: try await tables(of: named, configuration, for: yaml),
            inputs: inputs(configuration, syncConfig: name, named),
            words: words
        )
    }

    // MARK: What the code is made of

    private func readConfiguration() throws -> ServiceConfiguration {
        let location = config.location
        guard location.isGiven || FileManager.default.fileExists(atPath: location.name) else {
            throw ValidationError(
                """
                There is no \(location.name) with a sync config and a source. Give --config with a service configuration; or a \
                sync config, and its tables with --schema or --source.
                """
            )
        }
        return try location.read()
    }

    /// The text of the sync config, and its name.
    private func syncConfigText(_ configuration: ServiceConfiguration?) throws -> (text: String, name: String) {
        if let syncConfig { return (try SwiftGeneration.syncConfig(at: syncConfig), syncConfig) }
        if let (text, file) = try configuration?.readSyncConfigText() { return (text, file) }
        throw UnreadableFile(
            """
            \(config.location.name) has no sync config: it is deployed through the admin API. Name its file: powersync generate \
            swift sync.yaml
            """
        )
    }

    /// The inputs for the comment on top: the sync config, and where the tables are.
    private func inputs(
        _ configuration: ServiceConfiguration?,
        syncConfig name: String,
        _ named: (any SourceModule)?
    ) -> [String] {
        let isInline = syncConfig == nil && configuration?.syncConfig.isInline == true
        let config = isInline ? self.config.location.name : name
        let tables = schema ?? named.map { type(of: $0).argumentForm.kind } ?? self.config.location.name
        return config == tables ? [config] : [config, tables]
    }

    /// The arguments that name the inputs.
    ///
    /// The URI of a database is not among them: it may have a password, and the code is the same for another copy of the database.
    private var words: [String] {
        var words = [syncConfig].compactMap(\.self)
        if let schema { words += ["--schema", schema] }
        if let file = config.file { words += ["--config", file] }
        if source != nil { words += ["--source", "URI"] }
        return words
    }

    /// The tables of the source.
    private func tables(
        of named: (any SourceModule)?,
        _ configuration: ServiceConfiguration?,
        for yaml: String
    ) async throws -> DeclaredSource {
        if let schema { return try DeclaredSource(contentsOf: schema) }
        let source = try named ?? (configuration ?? readConfiguration()).source.module
        let read: SourceTables
        do {
            // With --source no service is meant.
            read = try await source.readTables(for: named == nil ? SyncConfig.parse(yaml).plan : nil)
        } catch let error as SourceUnreadable where error.isServer {
            printToStandardError("error: \(error)")
            throw TestConnectionCommand.unreachable
        }
        // The code can be made nevertheless.
        for finding in read.findings {
            let code = finding.code.map { " [\($0.rawValue)]" } ?? ""
            let remedy = finding.remedy.map { " \($0)" } ?? ""
            printToStandardError("warning: \(finding.message)\(remedy)\(code)")
        }
        return DeclaredSource(
            read.tables,
            defaultSchema: source.defaultSchema,
            name: read.owner,
            remedy: read.remedy
        )
    }
}

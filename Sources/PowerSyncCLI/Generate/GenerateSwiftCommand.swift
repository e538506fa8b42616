import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncService
import PowerSyncServicePostgres
import PowerSyncTerminal

/// `powersync generate swift`: a schema, types of rows and functions for streams, from files or from a service's source.
struct GenerateSwiftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swift",
        abstract: "Generate the schema of a client, types for its rows, and functions for its streams.",
        discussion: """
            Takes the sync config that is named, or that of the service configuration, and the tables of --schema, of --source, \
            or of the source in the service configuration. Nothing is changed there, and no row is read.

              powersync generate swift --config powersync.yaml --output Sources/App/Synced.swift
              PGPASSWORD=… powersync generate swift sync.yaml --source postgresql://me@db.example.com/app
              powersync generate swift sync.yaml --schema schema.sql

            Prints Swift code, or writes it to --output. With --check nothing is written: exits with 1 and a short \
            difference when the file is not what would be generated. Exits with 2 when there is no connection to the database.
            """
    )

    @Argument(
        help: "The sync config; that of the service configuration if it is left out.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var syncConfig: String?

    @Option(
        help: "The tables of the source: a SQLite database, or a file of CREATE TABLE statements.",
        completion: .file()
    )
    var schema: String?

    @Option(
        help: ArgumentHelp(
            """
            A PostgreSQL database with the tables: postgresql://user@host:5432/database, encrypted unless it ends with \
            ?sslmode=disable; or - for an address on standard input. A password is taken from PGPASSWORD or ~/.pgpass: in the \
            address, other users of this machine could see it. It is not written into the code.
            """,
            valueName: "uri"
        )
    )
    var source: String?

    @OptionGroup var config: ConfigurationOptions

    @OptionGroup var output: SwiftOutputOptions

    func validate() throws {
        if schema != nil, source != nil {
            throw ValidationError("--schema and --source both have the tables; give one of them")
        }
    }

    /// Whether the service configuration is read.
    private var needsConfiguration: Bool {
        config.file != nil || syncConfig == nil || schema == nil && source == nil
    }

    func run() async throws {
        let configuration = needsConfiguration ? try readConfiguration() : nil
        let (yaml, name) = try syncConfigText(configuration)
        let generation = SwiftGeneration(
            yaml: yaml,
            config: name,
            source: try await tables(configuration, for: yaml),
            inputs: inputs(configuration, syncConfig: name),
            words: words
        )
        try generation.run(output)
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
    private func inputs(_ configuration: ServiceConfiguration?, syncConfig name: String) -> [String] {
        let isInline = syncConfig == nil && configuration?.syncConfig.isInline == true
        let config = isInline ? self.config.location.name : name
        let tables = schema ?? (source == nil ? self.config.location.name : "a PostgreSQL database")
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
    private func tables(_ configuration: ServiceConfiguration?, for yaml: String) async throws -> DeclaredSource {
        if let schema { return try DeclaredSource(contentsOf: schema) }
        if let source {
            var settings = try SourceArgument.settings(source)
            if let publication = configuration?.source.postgresSettings?.publication {
                settings.publication = publication
            }
            return try await postgres(settings, of: nil)
        }
        let configuration = try configuration ?? readConfiguration()
        if let settings = configuration.source.postgresSettings {
            return try await postgres(settings, of: SyncConfig.parse(yaml).plan)
        }
        return try embedded(configuration.source)
    }

    private func embedded(_ source: ServiceConfiguration.Source) throws -> DeclaredSource {
        let path = source.embeddedPath ?? ""
        do {
            return DeclaredSource(
                try DeclaredTable.all(inEmbeddedSource: path, statements: source.embeddedStatements),
                defaultSchema: "main",
                name: "The embedded source \(path)",
                remedy: "Add it to tables of the source, or correct the sync config; names are case sensitive."
            )
        } catch {
            throw UnreadableFile("cannot read the tables of the embedded source \(path): \(error)")
        }
    }

    // MARK: PostgreSQL

    /// The tables of a PostgreSQL database.
    ///
    /// - Parameters:
    ///   - settings: Where it is.
    ///   - plan: What a service would read with these settings, to say what keeps it from that; `nil` when no service is meant.
    /// - Returns: All tables that can be replicated.
    /// - Throws: `ExitCode` after it has said why there is no connection, or `ServiceError`.
    private func postgres(_ settings: PostgresSettings, of plan: SyncPlan?) async throws -> DeclaredSource {
        let string = try settings.connectionString()
        let tables: [DeclaredTable]
        do {
            let connection = try await PostgresConnection.open(string)
            defer { connection.close() }
            tables = try await PostgresTables.all(in: settings.publication, connection)
            if let plan { try await warn(about: plan, settings, connection) }
        } catch let error as PostgresError {
            let remedy = PostgresCheck.remedy(for: error).map { " \($0)" } ?? ""
            printToStandardError("error: the tables of \(settings) cannot be read. \(error).\(remedy)")
            throw TestConnectionCommand.unreachable
        }
        return DeclaredSource(
            tables,
            defaultSchema: PostgresSource.defaultSchema,
            name: "\(settings)",
            remedy: "Create it there, or correct the sync config; names are case sensitive, and views are not synced."
        )
    }

    /// Says what keeps rows of tables from being synced, with what mends it: the code can be made nevertheless.
    private func warn(
        about plan: SyncPlan,
        _ settings: PostgresSettings,
        _ connection: PostgresConnection
    ) async throws {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        for finding in try await check.findings(on: connection, plan: plan) {
            guard finding.table != nil, finding.severity == .error || finding.leavesTableOut else { continue }
            let code = finding.code.map { " [\($0.rawValue)]" } ?? ""
            let remedy = finding.remedy.map { " \($0)" } ?? ""
            printToStandardError("warning: \(finding.message)\(remedy)\(code)")
        }
    }
}

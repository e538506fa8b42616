import Foundation
import Logging
public import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// The source in a PostgreSQL database: ``PostgresSource``.
package struct PostgresSourceModule: SourceModule {
    /// Where the database is, and how it is read.
    package let settings: PostgresSettings

    /// Creates a module of a database, which is not asked.
    package init(_ settings: PostgresSettings) {
        self.settings = settings
    }

    package static let type = "postgresql"
    package static let summary: String? = nil
    package static let example = "{type: postgresql, uri: !env PS_DATA_SOURCE_URI}"
    package static func starter(tables: [String]) -> [String]? { nil }
    package static let schemaKeys: [SchemaObject.Key] =
        PostgresSettings.schemaKeys + [
            .init("publication", "The publication that names the tables; powersync by default.", .text),
            .init("slot_name_prefix", "What the names of replication slots begin with; powersync_ by default.", .text),
            .init(
                "heartbeat_interval_seconds",
                "How often an idle source is looked at; 60 by default.",
                .integer(5...60)
            ),
        ]
    package static let sharing = ModuleSharing.anyNumber

    package var description: String { settings.description }
    package var defaultSchema: String { PostgresSource.defaultSchema }
    package var handlePrefix: String { settings.slotNamePrefix }
    package var files: [DatabaseFile] { [] }
    package var secrets: [String] { settings.secrets }
    package var host: String? { settings.keywords?["host"] }
    package var configurationErrorCode: ServiceError.Code { .invalidConfiguration }
    package var isThere: Bool { true }

    package init?(_ section: inout YAMLSection) {
        guard let settings = PostgresSettings(&section) else { return nil }
        self.init(settings)
    }

    // MARK: Opening

    package func open(_ context: ModuleContext) throws -> any ReplicationSource {
        var source = PostgresSource.Settings(connection: try settings.connectionString())
        source.publication = settings.publication
        source.slotNamePrefix = settings.slotNamePrefix
        source.maximumConnections = settings.maximumPoolSize
        source.heartbeatInterval = settings.heartbeatInterval
        return PostgresSource(source, logger: context.logger)
    }

    /// Nothing: a start makes no files.
    package func checkOpening(_ context: ModuleContext) async throws {}

    package func check(
        _ plan: SyncPlan,
        text: (content: String, file: String)?,
        _ context: ModuleContext
    ) async throws -> SourceReport {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        do {
            let string = try settings.connectionString()
            let connection = try await PostgresConnection.open(string)
            defer { connection.close() }
            var findings = try await check.findings(on: connection, plan: plan, text: text)
            // A role that may not replicate gets one finding for that.
            if !findings.hasErrors {
                findings = try await check.pathErrors(to: string) + findings
            }
            let version = connection.serverVersion
            return SourceReport(
                source: settings.description,
                serverVersion: "\(version / 10_000).\(version % 10_000)",
                outcome: .checked(findings)
            )
        } catch let error as PostgresError {
            return SourceReport(
                source: settings.description,
                serverVersion: nil,
                outcome: .unreachable(Finding(.error, .source, "\(error)", remedy: PostgresCheck.remedy(for: error)))
            )
        }
    }

    package var development: (any DevelopmentDatabase)? { nil }

    package func refusal(of pattern: TablePattern) -> String? { nil }

    package func slots() async throws -> [SourceSlot]? {
        do {
            let connection = try await PostgresConnection.open(try settings.connectionString())
            defer { connection.close() }
            return try await connection.slots(withPrefix: settings.slotNamePrefix).map { slot in
                SourceSlot(
                    name: slot.name,
                    isActive: slot.isActive,
                    state: slot.walStatus,
                    retainedBytes: slot.retainedBytes
                )
            }
        } catch let error as PostgresError {
            throw SourceUnreachable(error)
        }
    }
}

// MARK: Commands

extension PostgresSourceModule {
    package static let argumentForm = SourceArgumentForm(
        kind: "a PostgreSQL database",
        form: "postgresql://user@host:5432/database (encrypted unless it ends with ?sslmode=disable)",
        example: "postgresql://me@db.example.com/app",
        exampleVariable: "PGPASSWORD=…",
        passwordPlaces: "PGPASSWORD or ~/.pgpass",
        schemes: ["postgresql", "postgres"]
    )

    /// Reads an address: a connection URI, or keywords of libpq; also one that cannot be used, to say why.
    package init?(argument: String, like configured: (any SourceModule)?) throws {
        let isFile = FileManager.default.fileExists(atPath: argument)
        guard argument.contains("://") || !isFile && argument.contains(where: { "@=".contains($0) }) else { return nil }
        var settings = PostgresSettings(uri: argument)
        settings.key = "--source"
        _ = try settings.connectionString()
        if let configured = configured as? PostgresSourceModule {
            settings.publication = configured.settings.publication
        }
        self.init(settings)
    }

    package var hasPassword: Bool { settings.hasPassword }

    package func readTables(for plan: SyncPlan?) async throws -> SourceTables {
        try await reading {
            let connection = try await PostgresConnection.open(try settings.connectionString())
            defer { connection.close() }
            let tables = try await PostgresTables.all(in: settings.publication, connection)
            var findings: [Finding] = []
            if let plan {
                let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
                findings = try await check.findings(on: connection, plan: plan).filter { finding in
                    finding.place.table != nil && finding.leavesRowsOut
                }
            }
            return SourceTables(
                tables: tables,
                schema: SourceSchema(tables, defaultSchema: PostgresSource.defaultSchema),
                owner: settings.description,
                remedy:
                    "Create it there, or correct the sync config; names are case sensitive, and views are not synced.",
                findings: findings
            )
        }
    }

    package func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws {
        try await reading {
            var source = PostgresSource.Settings(connection: try settings.connectionString())
            source.publication = settings.publication
            let reader = PostgresSource(source, logger: Logger(label: "powersync") { _ in SwiftLogNoOpLogHandler() })
            defer { try? reader.close() }
            for table in try await reader.tables(for: plan) {
                var snapshot = try await reader.snapshot(of: table, after: nil)
                while let chunk = try await snapshot.next() {
                    for row in chunk.rows { body(row, table.name) }
                }
            }
        }
    }

    /// Says which server cannot be read, and what to do.
    private func reading<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError {
            let remedy = PostgresCheck.remedy(for: error).map { " \($0)" } ?? ""
            throw SourceUnreadable("the tables of \(settings) cannot be read. \(error).\(remedy)", isServer: true)
        }
    }
}

extension SourceConfiguration {
    /// A PostgreSQL database that is replicated.
    ///
    /// - Parameter settings: Where it is.
    /// - Returns: The source.
    public static func postgresql(_ settings: PostgresSettings) -> SourceConfiguration {
        SourceConfiguration(PostgresSourceModule(settings))
    }
}

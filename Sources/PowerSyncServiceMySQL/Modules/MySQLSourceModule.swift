import Foundation
import Logging
import PowerSyncMySQLConnection
public import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// The source in a MySQL or MariaDB server: ``MySQLSource``.
package struct MySQLSourceModule: SourceModule {
    /// Where the database is, and how it is read.
    package let settings: MySQLSettings

    /// Creates a module of a database, which is not asked.
    package init(_ settings: MySQLSettings) {
        self.settings = settings
    }

    package static let type = "mysql"
    package static let summary: String? = nil
    package static let example = "{type: mysql, uri: !env PS_DATA_SOURCE_URI}"
    package static func starter(tables: [String]) -> [String]? { nil }
    package static func serverStarter(password: String) -> ServerStarter? {
        ServerStarter(
            keys: [
                "type: mysql", "# With ?sslmode=disable at its end for a server on this machine.",
                "uri: !env PS_DATA_SOURCE_URI",
            ],
            setUp: """
                -- Once, as an administrator of the server. It needs a binary log; powersync test-connection says what else is missing.
                CREATE DATABASE powersync_app CHARACTER SET utf8mb4;

                CREATE TABLE powersync_app.lists (
                    id VARCHAR(36) NOT NULL PRIMARY KEY,
                    owner_id VARCHAR(64),
                    name VARCHAR(200)
                );

                CREATE TABLE powersync_app.todos (
                    id VARCHAR(36) NOT NULL PRIMARY KEY,
                    list_id VARCHAR(36),
                    title VARCHAR(500),
                    done BOOLEAN
                );

                INSERT INTO powersync_app.lists (id, owner_id, name) VALUES
                    ('groceries', 'user-1', 'Groceries'),
                    ('work', 'user-2', 'Work');

                INSERT INTO powersync_app.todos (id, list_id, title, done) VALUES
                    ('milk', 'groceries', 'Milk', 0),
                    ('bread', 'groceries', 'Bread', 1),
                    ('report', 'work', 'Write the report', 0);

                -- The account of the service, on the machine of the server. For a service on another one, write its address in place of
                -- 127.0.0.1, add REQUIRE SSL, and leave ?sslmode=disable out of the URI.
                CREATE USER 'powersync'@'127.0.0.1' IDENTIFIED BY '\(password)';

                GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS /*M! , SLAVE MONITOR */ ON *.* TO 'powersync'@'127.0.0.1';

                GRANT SELECT ON powersync_app.* TO 'powersync'@'127.0.0.1';

                """,
            steps: [
                "mysql -u root -p < setup.sql",
                "export PS_DATA_SOURCE_URI='mysql://powersync:\(password)@127.0.0.1/powersync_app?sslmode=disable'",
            ]
        )
    }
    package static let schemaKeys: [SchemaObject.Key] =
        .connection(uri: "mysql://user:password@host:3306/database", modes: MySQLSettings.TLSMode.all.map(\.sslmode))
        + [
            .init(
                "server_id",
                "The first of 8 numbers in a row that no replica of the server has.",
                .integer(0...Int(MySQLSettings.largestServerID))
            ),
            .init(
                "heartbeat_interval_seconds",
                "How often the catalogue is looked at; 60 by default.",
                .integer(5...60)
            ),
            .init(
                "binlog_queue_memory_limit",
                "Megabytes of events that may wait; 50 by default.",
                .integer(1...65536)
            ),
            .init(
                "copy_after_alter",
                "Whether a table is copied again after an ALTER that may change values.",
                .boolean
            ),
            .init("ignore_foreign_key_cascades", "Whether rows that foreign keys change may stay.", .boolean),
        ]
    package static let sharing = ModuleSharing.anyNumber

    package var description: String { settings.description }
    package var defaultSchema: String { settings.parts.database ?? "" }
    /// What the names of streams begin with.
    ///
    /// The server keeps nothing under them.
    package var handlePrefix: String { "powersync_" }
    package var files: [DatabaseFile] { [] }
    package var secrets: [String] { settings.secrets }
    package var host: String? { settings.parts.host }
    package var configurationErrorCode: ServiceError.Code { .invalidConfiguration }
    package var isThere: Bool { true }

    package init?(_ section: inout YAMLSection) {
        guard let settings = MySQLSettings(&section) else { return nil }
        self.init(settings)
    }

    // MARK: Opening

    package func open(_ context: ModuleContext) throws -> any ReplicationSource {
        MySQLSource(settings, connecting: try settings.connection(), logger: context.logger)
    }

    /// Nothing: a start makes no files.
    package func checkOpening(_ context: ModuleContext) async throws {}

    package func check(
        _ plan: SyncPlan,
        text: (content: String, file: String)?,
        _ context: ModuleContext
    ) async throws -> SourceReport {
        do {
            return try await withConnection { connection in
                SourceReport(
                    source: settings.description,
                    serverVersion: connection.serverVersion,
                    outcome: .checked(
                        try await MySQLCheck.findings(settings, on: connection, plan: reading(plan), text: text)
                    )
                )
            }
        } catch let error as MySQLConnectionError {
            return SourceReport(
                source: settings.description,
                serverVersion: nil,
                outcome: .unreachable(
                    Finding(.error, .source, code: error.catalogueCode, "\(error)", remedy: error.remedy)
                )
            )
        }
    }

    package var development: (any DevelopmentDatabase)? { nil }

    package func refusal(of pattern: TablePattern) -> String? {
        guard pattern.hasSchemaWildcard else { return nil }
        return
            "The log of a MySQL server is read for schemas that are named: write the schema, or leave it out for \(defaultSchema)."
    }

    /// Nothing: a server keeps its log for a time, and not for its readers.
    package func slots() async throws -> [SourceSlot]? { nil }

    /// The plan with the default schema of the source.
    private func reading(_ plan: SyncPlan) -> SyncPlan {
        var plan = plan
        plan.defaultSchema = defaultSchema
        return plan
    }

    private func withConnection<Result>(_ body: (MySQLConnection) async throws -> Result) async throws -> Result {
        let connection = try await MySQLConnection.open(try settings.connection(), logger: Self.silentLogger)
        defer { connection.close() }
        return try await body(connection)
    }

    /// Commands say what happens themselves.
    private static let silentLogger = Logger(label: "powersync") { _ in SwiftLogNoOpLogHandler() }
}

// MARK: Commands

extension MySQLSourceModule {
    package static let argumentForm = SourceArgumentForm(
        kind: "a MySQL or MariaDB database",
        form: "mysql://user@host:3306/database (encrypted unless it ends with ?sslmode=disable)",
        example: "mysql://me@db.example.com/app",
        exampleVariable: "MYSQL_PWD=…",
        passwordPlaces: passwordVariable,
        schemes: MySQLConnectionURI.schemes
    )

    /// The variable from which MySQL's own programs take a password.
    private static let passwordVariable = "MYSQL_PWD"

    /// Reads an address: a connection URI; also one that cannot be used, to say why.
    package init?(argument: String, like configured: (any SourceModule)?) throws {
        guard MySQLConnectionURI.schemes.contains(where: { argument.lowercased().hasPrefix("\($0)://") }) else {
            return nil
        }
        var settings = MySQLSettings(uri: argument)
        settings.key = "--source"
        _ = settings.readParameters()
        if settings.parts.password == nil {
            settings.overrides.password = ProcessInfo.processInfo.environment[Self.passwordVariable] ?? ""
        }
        if let configured = configured as? MySQLSourceModule {
            settings.ignoresForeignKeyCascades = configured.settings.ignoresForeignKeyCascades
        }
        _ = try settings.connection()
        self.init(settings)
    }

    package var hasPassword: Bool { settings.uri?.parts.password != nil }

    package func readTables(for plan: SyncPlan?) async throws -> SourceTables {
        try await reading {
            try await withConnection { connection in
                let tables = try await MySQLRelations.declared(connection)
                var findings: [Finding] = []
                if let plan {
                    findings = try await MySQLCheck.findings(settings, on: connection, plan: reading(plan))
                        .filter { $0.place.table != nil && $0.leavesRowsOut }
                }
                return SourceTables(
                    tables: tables,
                    schema: SourceSchema(tables, defaultSchema: defaultSchema),
                    owner: settings.description,
                    remedy:
                        "Create it there, or correct the sync config; names are case sensitive, and views are not synced.",
                    findings: findings
                )
            }
        }
    }

    package func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws {
        try await reading {
            let reader = MySQLSource(settings, connecting: try settings.connection(), logger: Self.silentLogger)
            defer { try? reader.close() }
            for table in try await reader.tables(for: reading(plan)) {
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
        } catch let error as MySQLConnectionError {
            let remedy = error.remedy.map { " \($0)" } ?? ""
            throw SourceUnreadable("the tables of \(settings) cannot be read. \(error)\(remedy)", isServer: true)
        }
    }
}

extension SourceConfiguration {
    /// A MySQL or MariaDB database that is replicated.
    ///
    /// - Parameter settings: Where it is.
    /// - Returns: The source.
    public static func mysql(_ settings: MySQLSettings) -> SourceConfiguration {
        SourceConfiguration(MySQLSourceModule(settings))
    }
}

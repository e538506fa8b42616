package import Foundation
package import GRDB
package import Logging
package import PowerSync
package import PowerSyncService

/// The service of the integration tests: lists and todos of a user, an embedded source, files in a temporary folder.
///
/// The folder is removed when the value goes away; the service can be started on it again and again.
package final class TodoService: Sendable {
    package static let schema = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
        Table(name: "todos", columns: [.text("list_id"), .text("title"), .integer("done")])
    )

    /// ``schema`` with direct tables, whose constraints all rows of the tests meet.
    package static let directSchema = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name", .notNull)], direct: true),
        Table(
            name: "todos",
            columns: [
                .text("list_id", .references("lists", onDelete: .cascade)), .text("title"),
                .integer("done", .notNull, .default("0"), .check("done IN (0, 1)")),
            ],
            indexes: [.ascending(name: "by_list", column: "list_id"), .fullText(columns: ["title"])],
            direct: true
        )
    )

    package static let syncConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
        """

    package static let statements = [
        "CREATE TABLE IF NOT EXISTS lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT)",
        "CREATE TABLE IF NOT EXISTS todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER)",
    ]

    /// The same tables in a PostgreSQL source.
    package static let postgresTables = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text);
        CREATE TABLE todos (id text PRIMARY KEY, list_id text, title text, done int);
        """

    private static let secret = "integration-test-key-0123456789ab"

    /// `client_auth` of a configuration file.
    package static let clientAuth: String = {
        let key = Data(secret.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        return "{audience: [powersync-test], jwks: {keys: [{kty: oct, alg: HS256, kid: test, k: \(key)}]}}"
    }()

    /// Everything the service and the clients keep.
    package let folder: URL

    package init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "powersync-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    package var sourcePath: String { folder.appending(path: "source.db").path }

    /// The configuration, on any free port.
    package var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(path: sourcePath, statements: Self.statements),
            storage: .sqlite(path: folder.appending(path: "buckets.db").path),
            syncConfig: .content(Self.syncConfig)
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.development.writeEndpoint = true
        configuration.authentication.keys = [
            .hs256(secret: Array(Self.secret.utf8), id: "test")
        ]
        configuration.authentication.audience = ["powersync-test"]
        return configuration
    }

    /// Writes ``syncConfig`` into the folder, as `sync.yaml`.
    package func writeSyncConfig() throws {
        try Self.syncConfig.write(to: folder.appending(path: "sync.yaml"), atomically: true, encoding: .utf8)
    }

    /// A logger for problems only.
    package static var logger: Logger {
        var logger = Logger(label: "powersync.test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }

    /// Runs the service for the time of a closure.
    package func run<Result: Sendable>(
        _ configuration: ServiceConfiguration? = nil,
        _ body: (BoundAddress) async throws -> Result
    ) async throws -> Result {
        try await SyncService.withService(
            configuration: configuration ?? self.configuration,
            logger: Self.logger
        ) { running in
            try await body(running.address)
        }
    }

    /// A client with its own file.
    package func client(_ name: String, schema: Schema = TodoService.schema) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: schema,
            dbFilename: folder.appending(path: "\(name).db").path,
            logger: DefaultLogger(minSeverity: .fault)
        )
    }

    /// A connector of a user to a running service.
    package func connector(_ user: String, _ url: String) throws -> TestConnector {
        try TestConnector(url: url, token: try configuration.makeDevelopmentToken(userID: user))
    }

    /// The rows of a table in the source, ordered by id.
    package func sourceRows(_ table: String) async throws -> [[String?]] {
        let database = try DatabaseQueue(path: sourcePath)
        return try await database.read { db in
            try Row.fetchAll(db, sql: Self.select(table)).map { row in
                (0..<row.count).map { index in
                    let value: DatabaseValue = row[index]
                    return String.fromDatabaseValue(value) ?? Int64.fromDatabaseValue(value).map(String.init)
                }
            }
        }
    }

    /// Writes to the source as any program could.
    package func writeToSource(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        try await DatabaseQueue(path: sourcePath, configuration: configuration).write(body)
    }

    /// Makes a backup of the source.
    ///
    /// - Returns: Its path.
    /// - Throws: An error of the database.
    package func backUpSource() throws -> String {
        let path = folder.appending(path: "backup.db").path
        try DatabaseQueue(path: sourcePath).backup(to: DatabaseQueue(path: path))
        return path
    }

    /// Puts a backup in the place of the source, which nobody has open.
    package func restoreSource(from backup: String) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: sourcePath + suffix) }
        try FileManager.default.copyItem(atPath: backup, toPath: sourcePath)
    }

    /// Makes the tables of the source, and a list of `anna` with so many todos that copying them takes its time.
    ///
    /// - Parameters:
    ///   - todos: How many todos.
    ///   - titleBytes: The length of their titles.
    /// - Throws: An error of the database.
    package func fillSource(todos: Int = 15_000, titleBytes: Int = 20) async throws {
        try await writeToSource { db in
            for statement in Self.statements { try db.execute(sql: statement) }
            try db.execute(sql: "INSERT INTO lists VALUES ('l1', 'anna', 'one')")
            try db.execute(
                sql: """
                    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
                    INSERT INTO todos SELECT 't' || n, 'l1', substr(hex(zeroblob(?)), 1, ?), 0 FROM numbers
                    """,
                arguments: [todos, titleBytes, titleBytes]
            )
        }
    }

    /// The statement that reads a table in clients and source alike.
    package static func select(_ table: String) -> String {
        let columns = schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
        return "SELECT id, \(columns.joined(separator: ", ")) FROM \(table) ORDER BY id"
    }
}

extension PowerSyncDatabaseProtocol {
    /// Waits until a table has exactly these rows.
    package func waitForRows(of table: String, toEqual expected: [[String?]]) async throws {
        let changes = try watch(TodoService.select(table)) { cursor in
            (0..<cursor.columnCount).map { cursor.getStringOptional(index: $0) }
        }
        for try await rows in changes where rows == expected {
            return
        }
    }

    /// Waits until nothing is left to upload.
    package func waitForEmptyQueue() async throws {
        for try await count in try watch("SELECT count(*) FROM ps_crud", mapper: { try $0.getInt(index: 0) })
        where count == [0] {
            return
        }
    }
}

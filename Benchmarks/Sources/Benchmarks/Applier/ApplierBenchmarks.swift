import Foundation
import GRDB
import Logging
import NIOPosix
import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres
import PowerSyncCore
import PowerSyncMySQLConnection

/// Applying uploads to a table of an app: 20 requests of 1,000 entries in transactions of 10, on one connection.
///
/// The first ten requests insert rows, the others update them; a rule compares the owner. The floor runs one plain statement for each entry,
/// in one transaction for each request, and checks and remembers nothing. Servers are those of `scripts/with-postgres` and
/// `scripts/with-mysql`; what is not there is left out.
enum ApplierBenchmarks {
    static let requests: [UploadRequest] = (0..<20).map { request in
        UploadRequest(
            clientID: "client",
            entries: (0..<1_000).map { index in
                let number = request % 10 * 1_000 + index
                return UploadEntry(
                    operationID: Int64(request * 1_000 + index + 1),
                    op: request < 10 ? .put : .patch,
                    table: "todos",
                    id: "00000000-0000-4000-8000-\(String(1_000_000_000_000 + number).dropFirst())",
                    transactionID: Int64(index / 10),
                    data: [
                        "owner_id": .string("user"), "title": .string("A todo with number \(number)"),
                        "done": .int(request / 10),
                    ]
                )
            }
        )
    }

    /// Runs all cases.
    static func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        try await runSQLite()
        if let uri = environment["POWERSYNC_POSTGRES"] { try await runPostgres(uri) }
        if let uri = environment["POWERSYNC_MYSQL"] { try await runMySQL(uri) }
    }

    private static func report(_ name: String, _ ours: Duration, _ floor: Duration) {
        let count = requests.reduce(0) { $0 + $1.entries.count }
        Report.line(
            "applier.\(name).20k_entries",
            ours: Measurement(best: ours).rate(of: count),
            floors: [("plain statements", Measurement(best: floor).rate(of: count))]
        )
    }

    private static func time(_ applier: any UploadApplier) async throws -> Duration {
        let start = ContinuousClock.now
        for request in requests {
            let response = try await applier.apply(request, for: BackendUser(id: "user"))
            precondition(response == UploadResponse(appliedThrough: request.entries.last?.operationID), "\(response)")
        }
        return ContinuousClock.now - start
    }

    // MARK: - SQLite

    private static func runSQLite() async throws {
        func database() throws -> TemporaryDatabase {
            let database = try TemporaryDatabase(schema: ClientSchema(tables: []))
            try database.pool.write { db in
                try db.execute(sql: "CREATE TABLE todos (id TEXT PRIMARY KEY, owner_id TEXT, title TEXT, done INTEGER)")
            }
            return database
        }
        let own = try database()
        let ours = try await time(
            SQLiteUploadApplier(own.pool) { write, db in
                try write.belongsToUser(by: "owner_id", db) ? .apply : .reject("Not yours.")
            }
        )
        let other = try database()
        let start = ContinuousClock.now
        for request in requests {
            try await other.pool.write { db in
                for entry in request.entries {
                    try db.cachedStatement(sql: sql(entry) { "?\($0)" }).execute(
                        arguments: StatementArguments(texts(entry))
                    )
                }
            }
        }
        report("sqlite", ours, ContinuousClock.now - start)
    }

    /// One statement for an entry, with the places of title, done, id and owner.
    private static func sql(_ entry: UploadEntry, _ place: (Int) -> String) -> String {
        entry.op == .put
            ? "INSERT INTO todos (title, done, id, owner_id) VALUES (\(place(1)), \(place(2)), \(place(3)), \(place(4)))"
            : "UPDATE todos SET title = \(place(1)), done = \(place(2)) WHERE id = \(place(3)) AND owner_id = \(place(4))"
    }

    private static func texts(_ entry: UploadEntry) -> [String] {
        guard case .string(let title) = entry.data?["title"], case .int(let done) = entry.data?["done"] else {
            return []
        }
        return [title, "\(done)", entry.id, "user"]
    }

    // MARK: - PostgreSQL

    private static func runPostgres(_ uri: String) async throws {
        guard let parts = URLComponents(string: uri) else { return }
        var configuration = PostgresClient.Configuration(
            host: parts.host ?? "127.0.0.1",
            port: parts.port ?? 5432,
            username: parts.user ?? "postgres",
            password: parts.password,
            database: "postgres",
            tls: .disable
        )
        configuration.options.maximumConnections = 1
        let client = PostgresClient(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            let logger = Logger(label: "benchmarks")
            func makeTable() async throws {
                _ = try await client.query("DROP TABLE IF EXISTS todos", logger: logger)
                _ = try await client.query(
                    "CREATE TABLE todos (id uuid PRIMARY KEY, owner_id text, title text, done boolean)",
                    logger: logger
                )
            }
            try await makeTable()
            let ours = try await time(
                PostgresUploadApplier(client) { write, _ in
                    try await write.belongsToUser(by: "owner_id") ? .apply : .reject("Not yours.")
                }
            )
            try await makeTable()
            let start = ContinuousClock.now
            try await client.withConnection { connection in
                for request in requests {
                    _ = try await connection.query("BEGIN", logger: logger)
                    for entry in request.entries {
                        var binds = PostgresBindings()
                        for text in texts(entry) { binds.append(text) }
                        let types = ["", "text", "text::boolean", "text::uuid", "text"]
                        let statement = sql(entry) { "$\($0)::\(types[$0])" }
                        _ = try await connection.query(
                            PostgresQuery(unsafeSQL: statement, binds: binds),
                            logger: logger
                        )
                    }
                    _ = try await connection.query("COMMIT", logger: logger)
                }
            }
            report("postgres", ours, ContinuousClock.now - start)
            _ = try await client.query("DROP TABLE todos, _ps_upload_clients, _ps_upload_writes", logger: logger)
            group.cancelAll()
        }
    }

    // MARK: - MySQL

    private static func runMySQL(_ uri: String) async throws {
        guard let parts = URLComponents(string: uri) else { return }
        let connection = try await MySQLConnection.open(
            MySQLConnectionSettings(
                host: parts.host ?? "127.0.0.1",
                port: parts.port ?? 3306,
                username: parts.user ?? "root",
                password: parts.password ?? "",
                tls: .disabled
            ),
            logger: Logger(label: "benchmarks")
        )
        try await connection.execute("CREATE DATABASE benchmark_applier CHARACTER SET utf8mb4")
        try await connection.execute("USE benchmark_applier")
        func makeTable() async throws {
            try await connection.execute("DROP TABLE IF EXISTS todos")
            try await connection.execute(
                "CREATE TABLE todos (id VARCHAR(36) PRIMARY KEY, owner_id VARCHAR(100), title TEXT, done BOOLEAN)"
            )
        }
        try await makeTable()
        var settings = MySQLServerSettings(
            host: parts.host ?? "127.0.0.1",
            port: parts.port ?? 3306,
            username: parts.user ?? "root",
            password: parts.password ?? "",
            database: "benchmark_applier",
            tls: .disabled
        )
        settings.maximumConnections = 1
        let ours = try await time(
            MySQLUploadApplier(settings) { write, _ in
                try await write.belongsToUser(by: "owner_id") ? .apply : .reject("Not yours.")
            }
        )
        try await makeTable()
        let start = ContinuousClock.now
        for request in requests {
            try await connection.execute("BEGIN")
            for entry in request.entries {
                let texts = texts(entry)
                try await connection.execute(sql(entry) { "'\(texts[$0 - 1])'" })
            }
            try await connection.execute("COMMIT")
        }
        report("mysql", ours, ContinuousClock.now - start)
        try await connection.execute("DROP DATABASE benchmark_applier")
        connection.close()
    }
}

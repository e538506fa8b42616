import Foundation
import Logging
import PowerSyncRules
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite

/// Replication from a PostgreSQL server into a bucket storage: the copy of a table, and a backlog of small transactions.
///
/// Needs a server: `scripts/with-postgres` starts one. The floors read the same rows and changes, and store nothing. Where the storage
/// is PostgreSQL, too, it is another database of the same server.
enum PostgresBenchmarks {
    private static let config = """
        config: {edition: 3}
        streams:
          todos: {query: "SELECT * FROM todos WHERE list = subscription.parameter('list')"}
        """

    /// Runs all cases.
    ///
    /// - Parameter rows: The rows of the table, and the updates of the backlog.
    /// - Throws: An error of the server or of the storage.
    static func run(rows: Int) async throws {
        try PostgresDecodeBenchmarks.run()
        guard let server = ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"] else {
            return print("postgres: there is no server; scripts/with-postgres starts one for a command.")
        }
        try await BenchmarkDatabase.with(server: server) { source in
            try await BenchmarkDatabase.with(server: server) { storage in
                try await measure(source, storage, rows: rows)
            }
        }
    }

    private static func measure(
        _ database: BenchmarkDatabase,
        _ storageDatabase: BenchmarkDatabase,
        rows: Int
    ) async throws {
        try await database.fill(rows: rows)
        guard var plan = SyncConfig.parse(config).plan else { preconditionFailure("the config is wrong") }
        plan.defaultSchema = PostgresSource.defaultSchema
        let name = "\(rows / 1_000)k"

        let source = database.source()
        let floorSlot = "\(database.name)_floor"
        let begin = try await source.prepareStream(floorSlot, resumingAfter: nil, reached: nil)
        let tables = try await source.tables(for: plan)
        let copyFloor = try await time { try await read(tables, from: source) }

        let folder = try TemporaryFolder()
        let sqlite = try SQLiteBucketStorage(path: folder.path, defaultSchema: PostgresSource.defaultSchema)
        let postgres = try await storageDatabase.storage()
        let scenarios = [("sqlite", sqlite as any BucketStorage), ("postgresql", postgres)].map { storage in
            (storage.0, Scenario(storage: storage.1, source: source, config: config, plan: plan))
        }
        for (storage, scenario) in scenarios {
            let copy = try await time { try await scenario.replicate() }
            Report.line(
                "postgres.copy.\(name)_rows.\(storage)",
                ours: rate(rows, copy),
                floors: [("reading the rows", rate(rows, copyFloor))]
            )
        }

        try await database.update(rows)
        let head = try await source.head()
        let changesFloor = try await time {
            try await follow(tables, of: floorSlot, after: begin, to: head.lsn, from: source, plan: plan)
        }
        for (storage, scenario) in scenarios {
            let backlog = try await time { try await scenario.replicate() }
            Report.line(
                "postgres.backlog.\(name)_updates.\(storage)",
                ours: rate(rows, backlog),
                floors: [("reading the changes", rate(rows, changesFloor))]
            )
        }
        try source.close()
        try sqlite.close()
        try postgres.close()
    }

    /// Reads all rows, and keeps none.
    private static func read(_ tables: [SourceTableDescriptor], from source: PostgresSource) async throws {
        for table in tables {
            var reader = try await source.snapshot(of: table, after: nil)
            while try await reader.next() != nil {}
        }
    }

    /// Reads all changes up to a position, and keeps none.
    private static func follow(
        _ tables: [SourceTableDescriptor],
        of slot: String,
        after position: SourcePosition,
        to head: LSN,
        from source: PostgresSource,
        plan: SyncPlan
    ) async throws {
        let tables = tables.map { SourceTable(id: $0.relationID, descriptor: $0, isSnapshotDone: true) }
        try await source.withChanges(of: slot, after: position, tables: tables, plan: plan) { reader in
            while true {
                for message in try await reader.next() {
                    if case .commit(let lsn) = message, lsn >= head { return }
                }
            }
        }
    }

    private static func time(_ body: () async throws -> Void) async throws -> Duration {
        let start = ContinuousClock.now
        try await body()
        return ContinuousClock.now - start
    }

    private static func rate(_ count: Int, _ time: Duration) -> Double {
        Measurement(best: time).rate(of: count)
    }

    /// A source, a storage, and a replicator between them.
    private struct Scenario {
        var storage: any BucketStorage
        var source: PostgresSource
        var config: String
        var plan: SyncPlan

        /// Replicates until everything that is in the source now has been published.
        func replicate() async throws {
            let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
            let replicator = Replicator(storage: storage, source: source, content: config, plan: plan, logger: logger)
            let head = try await source.head()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await replicator.run() }
                group.addTask {
                    while try await storage.publishedPosition().map({ $0.lsn < head.lsn }) ?? true {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}

/// A database of its own in a server.
struct BenchmarkDatabase {
    let name = "bench_\(String(UInt64.random(in: .min ... .max), radix: 36))"
    private let server: PostgresConnectionString
    private let connection: PostgresConnection
    private let string: PostgresConnectionString

    /// Makes the database.
    init(server uri: String) async throws {
        server = PostgresConnectionString(uri)
        let outside = try await PostgresConnection.open(server)
        try await outside.execute("CREATE DATABASE \(name)", activity: "making a database")
        outside.close()
        var keywords = server.keywords ?? []
        keywords.append((name: "dbname", value: name))
        string = PostgresConnectionString(keywords: keywords)
        connection = try await PostgresConnection.open(string)
    }

    /// Uses a database, and drops it.
    static func with(server: String, _ body: (BenchmarkDatabase) async throws -> Void) async throws {
        let database = try await BenchmarkDatabase(server: server)
        do {
            try await body(database)
        } catch {
            try await database.drop()
            throw error
        }
        try await database.drop()
    }

    /// A bucket storage in the database.
    func storage() async throws -> PostgresBucketStorage {
        var settings = PostgresBucketStorage.Settings(connection: string)
        settings.defaultTableSchema = PostgresSource.defaultSchema
        return try await PostgresBucketStorage.open(
            settings,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// A source over the database.
    func source() -> PostgresSource {
        PostgresSource(.init(connection: string), logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Makes a table with rows of about 250 bytes.
    func fill(rows: Int) async throws {
        try await connection.execute(
            """
            CREATE TABLE public.todos (id uuid PRIMARY KEY, list int, title text, done bool, made timestamptz, data jsonb);
            CREATE PUBLICATION powersync FOR ALL TABLES;
            INSERT INTO public.todos
            SELECT md5(n::text)::uuid, n % 1000, repeat('title ', 10) || n, false, now(),
              jsonb_build_object('n', n, 'tags', '["a", "b"]'::jsonb)
            FROM generate_series(1, \(rows)) n
            """,
            timeout: .seconds(600),
            activity: "filling a table"
        )
    }

    /// Updates rows, one in a transaction.
    func update(_ rows: Int) async throws {
        try await connection.execute(
            """
            DO $$ BEGIN
              FOR n IN 1..\(rows) LOOP
                UPDATE public.todos SET done = NOT done, list = n % 1000 WHERE id = md5(n::text)::uuid;
                COMMIT;
              END LOOP;
            END $$
            """,
            timeout: .seconds(1800),
            activity: "updating rows"
        )
    }

    /// Drops the database with its slots.
    func drop() async throws {
        connection.close()
        let outside = try await PostgresConnection.open(server)
        try await outside.execute(
            """
            SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots
              WHERE database = '\(name)' AND active_pid IS NOT NULL;
            SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '\(name)'
            """,
            activity: "dropping slots"
        )
        try await outside.execute("DROP DATABASE \(name) WITH (FORCE)", activity: "dropping a database")
        outside.close()
    }
}

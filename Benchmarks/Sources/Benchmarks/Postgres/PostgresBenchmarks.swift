import Foundation
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite

/// Replication from a PostgreSQL server into a bucket storage: the copy of a table, and a backlog of small transactions.
///
/// Needs a server: `scripts/with-postgres` starts one. The floors read the same rows and changes, and store nothing. Where the storage
/// is PostgreSQL, too, it is another database of the same server.
enum PostgresBenchmarks {
    /// The sync config.
    static let config = """
        config: {edition: 3}
        streams:
          todos: {query: "SELECT * FROM todos WHERE list = subscription.parameter('list')"}
        """

    /// What ``config`` compiles to.
    static var plan: SyncPlan {
        guard var plan = SyncConfig.parse(config).plan else { preconditionFailure("the config is wrong") }
        plan.defaultSchema = PostgresSource.defaultSchema
        return plan
    }

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
            (storage.0, SourceReplication(storage: storage.1, source: source, config: config, plan: plan))
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
}

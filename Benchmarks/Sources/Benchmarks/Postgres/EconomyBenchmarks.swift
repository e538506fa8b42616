import Foundation
import PowerSyncSyncConfig
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite

/// What costs only as much as has changed.
///
/// `deploy` has what deployments cost.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `economy.size.100k_rows` | what a row takes in SQLite, in one bucket of everybody and one of its own |
/// | `economy.update.changed.100k` | 100,000 updates that change something, in transactions of 2,000 |
/// | `economy.update.unsynced_column.100k` | as many that give the same, as with a column that no stream reads |
/// | `economy.commit_to_client.<storage>.alone` | from the statement that writes a row to the only client of a service of one node, 20 times a second |
/// | `economy.commit_to_client.<storage>.beside_1000` | the same with 1,000 clients whom the change does not concern |
/// | `economy.first_copy.toast` | a first copy of 5,000 rows with a value of 10 kB each, of which 4,000 are updated meanwhile, but for that value, and 1,000 with another one; and how many rows are read again |
enum EconomyBenchmarks {
    /// Runs the cases of updates.
    ///
    /// - Throws: An error of the storage.
    static func updates() async throws {
        let count = 100_000
        var benchmark = try await BenchmarkStorage()
        _ = try await benchmark.insert(count)
        _ = try await benchmark.seal()
        let bytes = try benchmark.bytes()
        print("economy.size.100k_rows: \(bytes.used / count) bytes a row in use")
        let same = Measurement(best: try await benchmark.update(count, isChange: false)).rate(of: count)
        let changed = Measurement(best: try await benchmark.update(count, isChange: true)).rate(of: count)
        Report.line("economy.update.changed.100k", ours: changed, floors: [])
        Report.line(
            "economy.update.unsynced_column.100k",
            ours: same,
            floors: [("updates that change something", changed)]
        )
        try benchmark.close()
    }

    /// Runs the cases of single commits, for which it needs `scripts/with-postgres`.
    ///
    /// - Throws: An error of the server, of the storage or of a connection.
    static func latency() async throws {
        guard let server = ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"] else {
            return print("economy-latency: there is no server; scripts/with-postgres starts one for a command.")
        }
        for isSQLite in [true, false] {
            try await BenchmarkDatabase.with(server: server) { source in
                try await BenchmarkDatabase.with(server: server) { storage in
                    try await commitToClient(source, storage, isSQLite: isSQLite)
                }
            }
        }
    }

    /// Runs the case of large values, for which it needs `scripts/with-postgres`.
    ///
    /// - Throws: An error of the server or of the storage.
    static func largeValues() async throws {
        guard let server = ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"] else {
            return print("economy-toast: there is no server; scripts/with-postgres starts one for a command.")
        }
        let rows = 5_000
        try await BenchmarkDatabase.with(server: server) { database in
            try await database.fill(rows: 1)
            try await database.run(
                """
                CREATE TABLE public.docs (id int PRIMARY KEY, seen int DEFAULT 0, body text);
                ALTER TABLE public.docs ALTER body SET STORAGE EXTERNAL;
                INSERT INTO public.docs (id, body) SELECT n, repeat(md5(n::text), 313) FROM generate_series(1, \(rows)) AS n;
                ANALYZE public.docs
                """
            )
            let folder = try TemporaryFolder()
            let config = "config: {edition: 3}\nstreams: {docs: {auto_subscribe: true, query: SELECT * FROM docs}}"
            guard var plan = SyncConfig.parse(config).plan else { preconditionFailure("the config is wrong") }
            plan.defaultSchema = PostgresSource.defaultSchema
            let source = database.source()
            let storage = try SQLiteBucketStorage(path: folder.path, defaultSchema: PostgresSource.defaultSchema)
            let replication = SourceReplication(storage: storage, source: source, config: config, plan: plan)
            let start = ContinuousClock.now
            try await replication.replicate {
                try await database.run(
                    """
                    DO $$ BEGIN
                        FOR n IN 1..\(rows) LOOP
                            UPDATE public.docs SET seen = seen + 1, body = CASE WHEN n % 5 = 0 THEN body || '.' ELSE body END
                            WHERE id = n;
                            COMMIT;
                        END LOOP;
                    END $$
                    """
                )
            }
            Report.time("economy.first_copy.toast", ours: Measurement(best: ContinuousClock.now - start), floors: [])
            try source.close()
            try storage.close()
            // The server counts when a connection ends, or a second later.
            try await Task.sleep(for: .seconds(2))
            let read = try await database.count(
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'docs'"
            )
            // Each is copied once, and updated once.
            print("economy.first_copy.toast: \(read - 2 * rows) rows read again")
        }
    }

    private static func commitToClient(
        _ source: BenchmarkDatabase,
        _ storage: BenchmarkDatabase,
        isSQLite: Bool
    ) async throws {
        try await PostgresLiveBenchmarks.fill(source, rows: 1_000, notes: 1_000)
        let folder = try TemporaryFolder()
        var configuration = PostgresLiveBenchmarks.configuration(
            source,
            isSQLite ? .sqlite(path: folder.path) : PostgresLiveBenchmarks.settings(of: storage),
            .unified
        )
        configuration.limits.maxConcurrentConnections = 10_000
        let logger = PostgresLiveBenchmarks.logger
        try await SyncService.withService(configuration: configuration, logger: logger) { running in
            func request(_ user: String) throws -> String {
                StreamClients.request(token: try configuration.makeDevelopmentToken(userID: user))
            }
            let (clients, others) = (StreamClients(), StreamClients())
            try await clients.open([request("a-0")], port: running.address.port)
            for isAlone in [true, false] {
                if !isAlone {
                    try await others.open((0..<1_000).map { try request("b-\($0)") }, port: running.address.port)
                }
                _ = clients.takeDelays()
                let start = ContinuousClock.now
                for number in 0..<150 {
                    try await source.run("UPDATE public.notes SET title = '\(clients.stamp)' WHERE id = 'a-0'")
                    try await Task.sleep(until: start + .milliseconds(50) * (number + 1), clock: .continuous)
                }
                try await Task.sleep(for: .seconds(1))
                let name = "economy.commit_to_client.\(isSQLite ? "sqlite" : "postgresql")"
                try Report.delays("\(name).\(isAlone ? "alone" : "beside_1000")", clients.takeDelays())
            }
            await others.close()
            await clients.close()
        }
    }
}

import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// Opening a file of 100 k synced rows until the first query can run: connections and their functions, the check of the
/// system tables, the unchanged schema, and the status of earlier syncs.
///
/// The floor opens the file with SQLite, sets the pragmas of our writer and reads one row.
enum OpeningBenchmarks {
    /// Runs all cases.
    static func run() throws {
        let rows = 100_000
        let database = try TemporaryDatabase()
        var engine = SyncEngine()
        try ApplyBenchmarks.apply(Workload(rows: rows, buckets: 10).lines(), with: &engine, to: database.pool)
        try database.pool.close()

        let ours = try Measurement.best(of: 10, prepare: {}) {
            let pool = try TemporaryDatabase.open(database.path)
            let status = try pool.write { db in
                try SystemTables.migrate(db)
                try TemporaryDatabase.schema.apply(to: db)
                return try DownloadStatus.offline(db)
            }
            precondition(status.priorities.count == 1, "the file was synced")
            try readOneRow { sql in try pool.read { try String.fetchOne($0, sql: sql) != nil } }
            try pool.close()
        }
        let floor = try Measurement.best(of: 10, prepare: {}) {
            let plain = try PlainDatabase(path: database.path)
            try readOneRow { sql in
                var found = false
                try plain.prepare(sql).run { found = $0.textLength(at: 0) > 0 }
                return found
            }
        }
        Report.time("opening.100k_rows", ours: ours, floors: [("plain SQLite", floor)])
    }

    private static func readOneRow(_ read: (String) throws -> Bool) throws {
        let found = try read("SELECT title FROM todos LIMIT 1")
        precondition(found, "the file has rows")
    }
}

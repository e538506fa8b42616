import Foundation
import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// What a key costs, over SQLCipher: a first sync, reading all rows from the disk, and opening.
///
/// The floor is the same library with a file that has no key.
enum EncryptionBenchmarks {
    private static let rows = 100_000
    private static let bytes = "PRAGMA key = \"x'\(String(repeating: "5a", count: 32))'\""
    private static let passphrase = "PRAGMA key = 'correct horse battery staple'"

    /// Runs all cases.
    static func run() throws {
        let cipher = try DatabaseQueue().read { try String.fetchOne($0, sql: "PRAGMA cipher_version") }
        guard let cipher else { return print("encryption: the SQLite library has no cipher; see the list of areas.") }
        print("encryption: SQLCipher \(cipher)")
        let lines = Workload(rows: rows, buckets: 10).lines()
        var (keyed, plain) = (Measurement.never, Measurement.never)
        for _ in 0..<3 {
            try keyed.improve(prepare: { try TemporaryDatabase(key: bytes) }) { try load(lines, into: $0) }
            try plain.improve(prepare: { try TemporaryDatabase() }) { try load(lines, into: $0) }
        }
        let name = "encryption.\(rows / 1_000)k_rows"
        Report.line("\(name).first_sync", ours: keyed.rate(of: rows), floors: [("no key", plain.rate(of: rows))])

        func measure(
            _ key: String?,
            _ body: (DatabasePool) throws -> Void
        ) throws -> (file: TemporaryDatabase, best: Measurement) {
            let database = try TemporaryDatabase(key: key)
            try load(lines, into: database)
            try database.pool.close()
            // A new connection has no pages in memory.
            let best = try Measurement.best(of: 5, prepare: {}) {
                let pool = try TemporaryDatabase.open(database.path, key: key)
                try body(pool)
                try pool.close()
            }
            return (database, best)
        }
        let read: (DatabasePool) throws -> Void = { pool in
            let bytes = try pool.read { try Int.fetchOne($0, sql: "SELECT sum(length(data)) FROM ps_oplog") }
            precondition(bytes ?? 0 > 0, "the file has rows")
        }
        Report.line(
            "\(name).read_all",
            ours: try measure(bytes, read).best.rate(of: rows),
            floors: [("no key", try measure(nil, read).best.rate(of: rows))]
        )
        let open: (DatabasePool) throws -> Void = { pool in
            _ = try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        }
        for (form, key) in [("bytes", bytes), ("passphrase", passphrase)] {
            let floor = try measure(nil, open).best
            Report.time("\(name).open.\(form)", ours: try measure(key, open).best, floors: [("no key", floor)])
        }
    }

    private static func load(_ lines: [SyncLine], into database: TemporaryDatabase) throws {
        var engine = SyncEngine()
        try ApplyBenchmarks.apply(lines, with: &engine, to: database.pool)
    }
}

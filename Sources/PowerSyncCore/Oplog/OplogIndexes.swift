import GRDB

/// The three secondary indexes of `ps_oplog`.
///
/// Keys arrive in random order, so maintaining the indexes costs a first sync of a million rows most of its time. A
/// bulk load (``OplogAccess``) therefore drops them and creates them before the first checkpoint is applied. Opening a
/// file creates them, too (``SystemTables/migrate(_:)``): the process may have ended in between.
enum OplogIndexes {
    private static let names = ["ps_oplog_row", "ps_oplog_opid", "ps_oplog_key"]

    /// Creates the indexes that do not exist.
    ///
    /// - Complexity: O(*n* log *n*) in the number of operations if something is missing.
    static func ensureExist(_ db: Database) throws {
        let count = try Int.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT count(*) FROM sqlite_master
                    WHERE type = 'index' AND name IN ('ps_oplog_row', 'ps_oplog_opid', 'ps_oplog_key')
                    """
            )
        )
        guard count != names.count else { return }
        try withSmallCache(db) {
            for sql in SystemTables.oplogIndexes {
                try db.execute(sql: sql)
            }
        }
    }

    /// The page cache while indexes are created, in KiB.
    private static let cacheSize = 8_192

    /// Runs a closure with a page cache that is no larger than what creating an index needs.
    ///
    /// The rows are read, sorted and written in order, so pages are not used again, but SQLite sorts in as much memory as
    /// the cache may have, beside the cache.
    private static func withSmallCache(_ db: Database, _ body: () throws -> Void) throws {
        let size = try Int.fetchOne(db, sql: "PRAGMA cache_size") ?? -ConnectionSetUp.writerCacheSize
        try db.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
        defer { try? db.execute(sql: "PRAGMA cache_size = \(size)") }
        try body()
    }

    /// Drops the indexes.
    static func drop(_ db: Database) throws {
        for name in names {
            try db.execute(sql: "DROP INDEX IF EXISTS \(name)")
        }
    }
}

import GRDB
import PowerSyncProtocol

/// The three secondary indexes of `ps_oplog`.
///
/// Keys arrive in random order, so maintaining the indexes costs a first sync of a million rows most of its time. A
/// bulk load (``OplogAccess``) therefore drops them and creates them when everything is downloaded. Each of them takes a
/// transaction of its own, so that an app's writes wait for one index at most.
enum OplogIndexes {
    private static let names = ["ps_oplog_row", "ps_oplog_opid", "ps_oplog_key"]

    /// Whether all of them exist.
    static func exist(_ db: Database) throws -> Bool {
        try missing(db).isEmpty
    }

    /// Creates the first one that does not exist.
    ///
    /// - Returns: Whether one was missing. The transaction should then end, so that others can write.
    /// - Complexity: O(*n* log *n*) in the number of operations if one is missing.
    static func createNext(_ db: Database) throws -> Bool {
        guard let next = try missing(db).first else { return false }
        try withSmallCache(db) { try db.execute(sql: next) }
        return true
    }

    /// Creates those that do not exist, when a file is opened.
    ///
    /// While its first sync has not come to its end they are left to the next iteration, which may go on without them:
    /// nothing else reads `ps_oplog`.
    static func repair(_ db: Database) throws {
        guard try SyncState.fetchAll(db).contains(where: { $0.priority == .complete }) else { return }
        while try createNext(db) {}
    }

    /// Drops the indexes.
    static func drop(_ db: Database) throws {
        for name in names {
            try db.execute(sql: "DROP INDEX IF EXISTS \(name)")
        }
    }

    /// The statements that create those that do not exist.
    private static func missing(_ db: Database) throws -> [String] {
        let existing = try String.fetchSet(
            db.cachedStatement(
                sql: """
                    SELECT name FROM sqlite_master
                    WHERE type = 'index' AND name IN ('ps_oplog_row', 'ps_oplog_opid', 'ps_oplog_key')
                    """
            )
        )
        return zip(names, SystemTables.oplogIndexes).filter { !existing.contains($0.0) }.map(\.1)
    }

    /// The page cache while an index is created, in KiB.
    private static let cacheSize = 8_192

    /// Runs a closure with a page cache that is no larger than what creating an index needs.
    ///
    /// The rows are read, sorted and written in order, so pages are not used again, but SQLite sorts in as much memory as
    /// the cache may have, beside the cache.
    static func withSmallCache(_ db: Database, _ body: () throws -> Void) throws {
        let size = try Int.fetchOne(db, sql: "PRAGMA cache_size")
        try db.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
        defer { if let size { try? db.execute(sql: "PRAGMA cache_size = \(size)") } }
        try body()
    }
}

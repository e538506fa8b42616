import GRDB

/// The three secondary indexes of `ps_oplog` (`database.md` 3.3).
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
        for sql in SystemTables.oplogIndexes {
            try db.execute(sql: sql)
        }
    }

    /// Drops the indexes.
    static func drop(_ db: Database) throws {
        for name in names {
            try db.execute(sql: "DROP INDEX IF EXISTS \(name)")
        }
    }
}

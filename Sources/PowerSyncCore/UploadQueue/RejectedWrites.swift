package import GRDB
import PowerSyncProtocol

/// Local writes that the app's backend will never accept: taken out of the upload queue, and kept to be looked at, put
/// back or removed.
///
/// The table is ours alone, so its name does not begin with `ps_`: whatever is called `ps_data_…` and is not in the schema
/// is dropped when any implementation applies it. It is made by the first rejection, and other implementations leave it
/// alone; their clearing does not empty it.
///
/// ```sql
/// CREATE TABLE powersync_swift_rejected_writes(
///   id INTEGER PRIMARY KEY, -- that of ps_crud
///   tx_id INTEGER,          -- that of ps_crud
///   data TEXT,              -- that of ps_crud
///   reason TEXT,
///   rejected_at INTEGER     -- microseconds since 1970
/// )
/// ```
package enum RejectedWrites {
    /// A write that was rejected.
    package struct Entry: Sendable, Hashable {
        /// The write.
        ///
        /// Its ids are those that it had in the queue.
        package var write: QueuedWrite
        /// Why it was rejected.
        package var reason: String
        /// When it was rejected.
        package var rejectedAt: SyncInstant
    }

    /// The name of the table.
    package static let table = "powersync_swift_rejected_writes"

    /// Copies a write from the queue; that it leaves the queue is for ``UploadQueue/complete(through:writeCheckpoint:_:)``,
    /// in the same transaction.
    ///
    /// Does nothing for a write that has left the queue already.
    package static func record(_ id: Int64, reason: String, at now: SyncInstant, _ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS \(table)(
                  id INTEGER PRIMARY KEY,
                  tx_id INTEGER,
                  data TEXT,
                  reason TEXT,
                  rejected_at INTEGER
                )
                """
        )
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO \(table)(id, tx_id, data, reason, rejected_at)
                SELECT id, tx_id, data, ?, ? FROM ps_crud WHERE id = ?
                """,
            arguments: [reason, now.rawValue, id]
        )
    }

    /// The writes that were rejected, in the order in which they were made.
    package static func all(_ db: Database) throws -> [Entry] {
        guard try tableExists(db) else { return [] }
        let rows = try Row.fetchCursor(db, sql: "SELECT id, tx_id, data, reason, rejected_at FROM \(table) ORDER BY id")
        var entries: [Entry] = []
        while let row = try rows.next() {
            entries.append(
                Entry(
                    write: try QueuedWrite(
                        id: row.stored(0, "rejected write: id"),
                        transactionID: row.stored(1, "rejected write: tx_id"),
                        text: row.stored(2, "rejected write: data") ?? ""
                    ),
                    reason: try row.stored(3, "rejected write: reason") ?? "",
                    rejectedAt: SyncInstant(microseconds: try row.stored(4, "rejected write: rejected_at") ?? 0)
                )
            )
        }
        return entries
    }

    /// Puts writes back at the end of the queue, in their order, as one transaction with new ids.
    ///
    /// The write gate closes as after any local write. The rows of the data tables do not change.
    ///
    /// - Parameters:
    ///   - ids: The ids that the writes had; others are ignored.
    ///   - db: The writer, inside a transaction.
    /// - Throws: `DatabaseError` of SQLite.
    package static func restore(_ ids: [Int64], _ db: Database) throws {
        guard try tableExists(db) else { return }
        let list = jsonArray(ids)
        try db.execute(
            sql: """
                INSERT INTO powersync_crud_(data)
                SELECT data FROM \(table) WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
                """,
            arguments: [list]
        )
        if try remove(ids, db) > 0 { try LocalWriteGate.close(db) }
    }

    /// Forgets writes.
    ///
    /// - Parameters:
    ///   - ids: The ids that the writes had; others are ignored.
    ///   - db: The writer, inside a transaction.
    /// - Returns: How many there were.
    /// - Throws: `DatabaseError` of SQLite.
    @discardableResult
    package static func remove(_ ids: [Int64], _ db: Database) throws -> Int {
        guard try tableExists(db) else { return 0 }
        try db.execute(
            sql: "DELETE FROM \(table) WHERE id IN (SELECT value FROM json_each(?))",
            arguments: [jsonArray(ids)]
        )
        return db.changesCount
    }

    /// Forgets all writes: they belong to the user who signs out.
    static func clear(_ db: Database) throws {
        guard try tableExists(db) else { return }
        try db.execute(sql: "DELETE FROM \(table)")
    }

    /// Asks SQLite: what GRDB remembers of the schema may be older than the first rejection on another connection.
    private static func tableExists(_ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [table]) ?? false
    }

    private static func jsonArray(_ ids: [Int64]) -> String {
        "[" + ids.map(String.init).joined(separator: ",") + "]"
    }
}

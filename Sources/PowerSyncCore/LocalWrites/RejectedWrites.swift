import Foundation
package import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

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
///
/// Some of them are parked: ``ParkedWrites``.
package enum RejectedWrites {
    /// What keeps a write aside.
    package enum Kind: Sendable, Hashable {
        /// It was rejected; later writes of its row are uploaded.
        case skipped
        /// It was rejected, and later writes of its row are kept aside behind it.
        case parked
        /// It was not rejected: it waits behind a parked write of its row.
        case waiting
    }

    /// A write that was rejected.
    package struct Entry: Sendable, Hashable {
        /// The write.
        ///
        /// Its ids are those that it had in the queue.
        package var write: QueuedWrite
        /// What keeps it aside.
        package var kind = Kind.skipped
        /// Why it was rejected, or the write that it waits behind.
        package var reason: String
        /// When it was rejected, or the write that it waits behind.
        package var rejectedAt: SyncInstant
    }

    /// The name of the table.
    package static let table = "powersync_swift_rejected_writes"

    /// Copies a write from the queue; that it leaves the queue is for ``UploadQueue/complete(through:writeCheckpoint:_:)``,
    /// in the same transaction.
    ///
    /// Does nothing for a write that has left the queue already.
    package static func record(_ db: Database, _ id: Int64, reason: String, at now: SyncInstant) throws {
        try createTable(db)
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO \(table)(id, tx_id, data, reason, rejected_at)
                SELECT id, tx_id, data, ?, ? FROM ps_crud WHERE id = ?
                """,
            arguments: [reason, now.rawValue, id]
        )
    }

    /// Makes the table, unless it is there.
    static func createTable(_ db: Database) throws {
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
    }

    /// The number of writes that were rejected or are kept aside behind those.
    package static func count(_ db: Database) throws -> Int {
        guard try db.hasTable(table) else { return 0 }
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
    }

    /// The writes that were rejected or are kept aside behind those, in the order in which they were made.
    package static func all(_ db: Database) throws -> [Entry] {
        guard try db.hasTable(table) else { return [] }
        let parked = try ParkedWrites.kinds(db)
        let statement = try db.makeStatement(
            sql: "SELECT id, tx_id, data, reason, rejected_at FROM \(table) ORDER BY id"
        )
        let rows = try Row.fetchCursor(statement)
        var entries: [Entry] = []
        while let row = try rows.next() {
            let write = QueuedWrite(currentRowOf: statement)
            entries.append(
                Entry(
                    write: write,
                    kind: parked[write.id] ?? .skipped,
                    reason: try row.stored(3, "rejected write: reason") ?? "",
                    rejectedAt: SyncInstant(microseconds: try row.stored(4, "rejected write: rejected_at") ?? 0)
                )
            )
        }
        return entries
    }

    /// Puts writes back at the end of the queue, in their order, with new ids.
    ///
    /// Writes that were made in one transaction are one transaction again. A parked row comes back as a whole: the other
    /// writes that are kept aside for it come with it. The write gate closes as after any local write. The rows of the data
    /// tables do not change.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - ids: The ids that the writes had; others are ignored.
    /// - Throws: `DatabaseError` of SQLite.
    package static func restore(_ db: Database, _ ids: [Int64]) throws {
        guard try db.hasTable(table) else { return }
        let ids = try ids + ParkedWrites.companions(db, of: ids)
        let writes = try kept(db, ids)
        // Removed first: what belongs to a parked row cannot be queued.
        guard try remove(db, ids) > 0 else { return }
        var earlier: Int64?
        for write in writes {
            if write.transaction == nil || write.transaction != earlier {
                try db.cachedStatement(sql: "UPDATE ps_tx SET next_tx = next_tx + 1 WHERE id = 1").execute()
            }
            earlier = write.transaction
            try db.cachedStatement(
                sql: """
                    INSERT INTO ps_crud(tx_id, data)
                    SELECT next_tx - 1, iif(?2, CAST(?1 AS TEXT), ?1) FROM ps_tx WHERE id = 1
                    """
            ).execute(arguments: [write.data, write.isText])
        }
        try LocalWriteGate.close(db)
    }

    /// A write as it is stored.
    private struct Kept {
        let transaction: Int64?
        let isText: Bool
        /// A text that is not UTF-8, or that GRDB would cut at a NUL, is bytes, which a cast makes a text again.
        let data: DatabaseValue
    }

    private static func kept(_ db: Database, _ ids: [Int64]) throws -> [Kept] {
        let rows = try PreparedStatement(
            db,
            sql: "SELECT tx_id, data FROM \(table) WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id"
        )
        defer { rows.reset() }
        try rows.bind(checkedText: jsonArray(ids), at: 1)
        var writes: [Kept] = []
        while try rows.step() {
            let transaction = rows.storageClass(at: 0) == .integer ? rows.integer(at: 0) : nil
            let (isText, isNull) = (rows.storageClass(at: 1) == .text, rows.isNull(at: 1))
            let bytes = unsafe rows.blob(at: 1)
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            let isExact = unsafe isText && !bytes.contains(0) && text.utf8.elementsEqual(bytes)
            let data = unsafe isNull ? .null : isExact ? text.databaseValue : Data(bytes).databaseValue
            writes.append(Kept(transaction: transaction, isText: isText, data: data))
        }
        return writes
    }

    /// Forgets writes.
    ///
    /// A row that is not parked any more afterwards gets the service's state with the next complete checkpoint; the write
    /// gate closes, so that one is asked for.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - ids: The ids that the writes had; others are ignored.
    /// - Returns: How many there were.
    /// - Throws: `DatabaseError` of SQLite.
    @discardableResult
    package static func remove(_ db: Database, _ ids: [Int64]) throws -> Int {
        guard try db.hasTable(table) else { return 0 }
        let list = jsonArray(ids)
        if try ParkedWrites.remove(db, list) { try LocalWriteGate.close(db) }
        try db.execute(
            sql: "DELETE FROM \(table) WHERE id IN (SELECT value FROM json_each(?))",
            arguments: [list]
        )
        return db.changesCount
    }

    /// Forgets all writes: they belong to the user who signs out.
    static func clear(_ db: Database) throws {
        try ParkedWrites.clear(db)
        guard try db.hasTable(table) else { return }
        try db.execute(sql: "DELETE FROM \(table)")
    }

    static func jsonArray(_ ids: [Int64]) -> String {
        "[" + ids.map(String.init).joined(separator: ",") + "]"
    }
}

import GRDB

/// Rejected writes that hold back the later writes of their rows, so that these are never uploaded out of order.
///
/// The writes themselves are in the table of ``RejectedWrites``; the one here says which of them are parked, and in which
/// rows. Like that one it is made when it is needed first.
///
/// ```sql
/// CREATE TABLE powersync_swift_parked_writes(
///   id INTEGER PRIMARY KEY, -- that of powersync_swift_rejected_writes
///   type TEXT NOT NULL,     -- the table of the row, as in the upload queue
///   row_id TEXT NOT NULL,   -- the id of the row
///   waits INTEGER NOT NULL  -- 0: was rejected, 1: waits behind one that was
/// )
/// ```
///
/// While there are parked writes, a trigger on `ps_crud` adds each new write of their rows to them, in the transaction that
/// makes it, on whichever connection. It is plain SQL, so that it works in every process and with every implementation, and
/// databases without parked writes do not have it.
///
/// A parked row keeps its local state: what checkpoints say of it is not published, and it stays in `ps_updated_rows`, so that
/// the first complete checkpoint after it has been restored or forgotten publishes it.
enum ParkedWrites {
    /// The name of the table.
    static let table = "powersync_swift_parked_writes"
    private static let trigger = "powersync_swift_park_writes"

    /// The rows with parked writes.
    ///
    /// Joined, because the app may delete from the table that it is shown.
    static let rowsSQL = """
        SELECT DISTINCT parked.type, parked.row_id
        FROM \(table) AS parked JOIN \(RejectedWrites.table) AS rejected ON rejected.id = parked.id
        """

    /// Parks writes that were just recorded as rejected, and all later ones of their rows.
    ///
    /// A damaged write that names no row has no later ones: it only leaves the queue.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - writes: The rejected writes, which are still in the queue.
    /// - Returns: How many later writes went with them.
    /// - Throws: `DatabaseError` of SQLite.
    /// - Complexity: O(length of the queue).
    static func park(_ db: Database, _ writes: [QueuedWrite]) throws -> Int {
        try create(db)
        // What the app has deleted from the table that it is shown holds nothing back.
        try db.execute(sql: "DELETE FROM \(table) WHERE id NOT IN (SELECT id FROM \(RejectedWrites.table))")
        let list = RejectedWrites.jsonArray(writes.map(\.id))
        for write in writes where write.damage == nil || !write.rowID.isEmpty && !write.table.isEmpty {
            try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO \(table)(id, type, row_id, waits) VALUES (?, ?, ?, 0)"
            ).execute(arguments: [write.id, write.table, write.rowID])
        }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO \(table)(id, type, row_id, waits)
                SELECT entry.id, first.type, first.row_id, 1
                FROM ps_crud AS entry JOIN \(table) AS first
                ON first.type = \(member("type", of: "entry.data")) AND first.row_id = \(member("id", of: "entry.data"))
                  AND first.id < entry.id
                WHERE entry.id > (SELECT min(value) FROM json_each(?))
                GROUP BY entry.id
                """,
            arguments: [list]
        )
        let waiting = db.changesCount
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO \(RejectedWrites.table)(id, tx_id, data, reason, rejected_at)
                SELECT entry.id, entry.tx_id, entry.data, first.reason, first.rejected_at
                FROM ps_crud AS entry
                JOIN \(table) AS parked ON parked.id = entry.id AND parked.waits
                JOIN \(RejectedWrites.table) AS first ON first.id = (
                    SELECT min(id) FROM \(table) WHERE type = parked.type AND row_id = parked.row_id
                );
                DELETE FROM ps_crud WHERE id IN (SELECT id FROM \(table));
                """
        )
        try db.execute(sql: "DELETE FROM ps_crud WHERE id IN (SELECT value FROM json_each(?))", arguments: [list])
        return waiting
    }

    /// What keeps parked writes aside, by their ids.
    static func kinds(_ db: Database) throws -> [Int64: RejectedWrites.Kind] {
        guard try db.hasTable(table) else { return [:] }
        var kinds: [Int64: RejectedWrites.Kind] = [:]
        let rows = try Row.fetchCursor(db, sql: "SELECT id, waits FROM \(table)")
        while let row = try rows.next() {
            let waits: Bool = try row.stored(1, "parked write: waits")
            kinds[try row.stored(0, "parked write: id")] = waits ? .waiting : .parked
        }
        return kinds
    }

    /// The parked writes of the rows that these writes belong to.
    static func companions(_ db: Database, of ids: [Int64]) throws -> [Int64] {
        guard try db.hasTable(table) else { return [] }
        return try Int64.fetchAll(
            db,
            sql: """
                SELECT other.id FROM \(table) AS parked
                JOIN \(table) AS other ON other.type = parked.type AND other.row_id = parked.row_id
                WHERE parked.id IN (SELECT value FROM json_each(?))
                """,
            arguments: [RejectedWrites.jsonArray(ids)]
        )
    }

    /// All parked writes.
    static func ids(_ db: Database) throws -> [Int64] {
        guard try db.hasTable(table) else { return [] }
        return try Int64.fetchAll(db, sql: "SELECT id FROM \(table)")
    }

    /// Makes the next complete checkpoint look at the rows again.
    static func markRows(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) \(rowsSQL)").execute()
    }

    /// Forgets writes; the rows are published by the next complete checkpoint, unless they have other parked writes.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - list: The ids, as a JSON array.
    /// - Returns: Whether any of them was parked.
    /// - Throws: `DatabaseError` of SQLite.
    static func remove(_ db: Database, _ list: String) throws -> Bool {
        guard try db.hasTable(table) else { return false }
        try markRows(db)
        try db.execute(
            sql: "DELETE FROM \(table) WHERE id IN (SELECT value FROM json_each(?))",
            arguments: [list]
        )
        let didRemove = db.changesCount > 0
        if try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(table))") == false {
            try db.execute(sql: "DROP TRIGGER IF EXISTS \(trigger)")
        }
        return didRemove
    }

    /// Forgets all writes.
    ///
    /// The trigger stays, because this may run inside a statement: it finds nothing to do.
    static func clear(_ db: Database) throws {
        guard try db.hasTable(table) else { return }
        try db.execute(sql: "DELETE FROM \(table)")
    }

    private static func create(_ db: Database) throws {
        try RejectedWrites.createTable(db)
        let (type, id) = (member("type", of: "NEW.data"), member("id", of: "NEW.data"))
        let first = """
            FROM \(table) AS parked JOIN \(RejectedWrites.table) AS rejected ON rejected.id = parked.id
            WHERE parked.type = \(type) AND parked.row_id = \(id)
            """
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS \(table)(
                  id INTEGER PRIMARY KEY,
                  type TEXT NOT NULL,
                  row_id TEXT NOT NULL,
                  waits INTEGER NOT NULL
                );
                CREATE INDEX IF NOT EXISTS powersync_swift_parked_rows ON \(table)(type, row_id);
                CREATE TRIGGER IF NOT EXISTS \(trigger) AFTER INSERT ON ps_crud
                WHEN EXISTS (SELECT 1 \(first))
                BEGIN
                  INSERT INTO \(RejectedWrites.table)(id, tx_id, data, reason, rejected_at)
                  SELECT NEW.id, NEW.tx_id, NEW.data, rejected.reason, rejected.rejected_at \(first)
                  ORDER BY parked.id LIMIT 1;
                  INSERT INTO \(table)(id, type, row_id, waits) VALUES (NEW.id, \(type), \(id), 1);
                  DELETE FROM ps_crud WHERE id = NEW.id;
                END;
                """
        )
    }

    /// A member of an entry's text; NULL when that is not JSON, as entries of the app's own triggers may be.
    private static func member(_ name: String, of text: String) -> String {
        "iif(json_valid(\(text)), json_extract(\(text), '$.\(name)'), NULL)"
    }
}

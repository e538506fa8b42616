import GRDB
import PowerSyncSQLite

/// The rows that keep their local state when a checkpoint is published: those with parked writes, and those with writes in the
/// upload queue.
///
/// The queue is empty whenever the local write gate is open, so only a publication of priority 0 meets rows of the second kind.
/// What it has for them stays unpublished, and they stay in `ps_updated_rows`, until the next complete checkpoint.
struct KeptRows {
    private var parked: Set<RowKey> = []
    private var waiting: Set<RowKey> = []
    /// The rows with waiting writes for which there was something to publish.
    private var skipped: [RowKey] = []

    /// Reads the rows.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - schema: What is known of the file's tables.
    ///   - isQueueEmpty: Whether the upload queue is known to be empty.
    /// - Returns: The rows.
    /// - Throws: `DatabaseError`.
    /// - Complexity: O(1) when there are none; O(length of the queue and number of parked writes).
    static func fetch(_ db: Database, schema: inout KnownSchema, isQueueEmpty: Bool) throws -> KeptRows {
        var kept = KeptRows()
        if !isQueueEmpty {
            let entries = try PreparedStatement(db, sql: "SELECT id, tx_id, data FROM ps_crud")
            while try entries.step() {
                let write = QueuedWrite(currentRowOf: entries)
                kept.waiting.insert(RowKey(type: Array(write.table.utf8), id: Array(write.rowID.utf8)))
            }
        }
        guard try schema.hasTable(db, named: ParkedWrites.table) else { return kept }
        let rows = try Row.fetchCursor(db.cachedStatement(sql: ParkedWrites.rowsSQL))
        while let row = try rows.next() {
            let (type, id): (String, String) =
                try (row.stored(0, "parked write: type"), row.stored(1, "parked write: row_id"))
            kept.parked.insert(RowKey(type: Array(type.utf8), id: Array(id.utf8)))
        }
        return kept
    }

    /// Whether a row keeps its local state.
    func contains(_ row: RowKey) -> Bool {
        waiting.contains(row) || parked.contains(row)
    }

    /// Whether a row that is about to be published keeps its local state, and notes that there was something to publish.
    mutating func keeps(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        guard !parked.isEmpty || !waiting.isEmpty else { return false }
        let row = unsafe RowKey(type: Array(type), id: Array(id))
        if waiting.contains(row) {
            skipped.append(row)
            return true
        }
        return parked.contains(row)
    }

    /// Makes the next complete checkpoint look at the rows again.
    ///
    /// Of the rows with waiting writes, only those are noted that were skipped: a row that no bucket has may be one that the
    /// application keeps in a raw table, and that is not synced at all.
    func markRows(_ db: Database) throws {
        if !parked.isEmpty { try ParkedWrites.markRows(db) }
        guard !skipped.isEmpty else { return }
        let mark = try PreparedStatement(
            db,
            sql: "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)"
        )
        for row in skipped {
            try mark.bind(checkedText: row.type, at: 1)
            try mark.bind(checkedText: row.id, at: 2)
            try mark.run()
        }
    }
}

import GRDB

/// The rows with parked writes, which keep their local state when a checkpoint is published.
struct ParkedRows {
    private struct Row: Hashable {
        let type: [UInt8]
        let id: [UInt8]
    }

    private var rows: Set<Row> = []

    /// Reads the rows.
    ///
    /// - Complexity: O(1) when there are none; O(number of parked writes).
    static func fetch(_ schema: inout KnownSchema, _ db: Database) throws -> ParkedRows {
        var parked = ParkedRows()
        guard try schema.hasTable(ParkedWrites.table, db) else { return parked }
        let rows = try GRDB.Row.fetchCursor(db.cachedStatement(sql: ParkedWrites.rowsSQL))
        while let row = try rows.next() {
            let (type, id): (String, String) =
                try (row.stored(0, "parked write: type"), row.stored(1, "parked write: row_id"))
            parked.rows.insert(Row(type: Array(type.utf8), id: Array(id.utf8)))
        }
        return parked
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Whether the row has parked writes; names and ids are compared byte by byte.
    func contains(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        !rows.isEmpty && rows.contains(Row(type: Array(type), id: Array(id)))
    }
}

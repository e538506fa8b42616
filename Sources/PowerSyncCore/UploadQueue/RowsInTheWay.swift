import PowerSyncSQLite

/// The rows that writes of the open transaction may remove besides their own, on one connection.
///
/// SQLite tells nobody of a row that `OR REPLACE` removes for a unique key. So the rows that have the key of a new one are
/// noted before it is written, whatever the statement will do with them, and those that are gone afterwards were removed.
struct RowsInTheWay {
    /// A row that was there before a write.
    struct Row {
        let type: [UInt8]
        let id: [UInt8]
        /// The table that holds the row, quoted.
        let table: String
        /// What the upload queue says if the row is gone.
        let entry: [UInt8]

        /// Whether the row is still there.
        func exists(on connection: OpaquePointer) throws -> Bool {
            let statement = try PreparedStatement(preparing: "SELECT 1 FROM \(table) WHERE id = ?1", on: connection)
            guard let statement else { return false }
            try id.withUnsafeBytes { try statement.bind(checkedText: $0, at: 1, .copied) }
            return try statement.step()
        }
    }

    private var rows: [Row] = []

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ row: Row) {
        rows.append(row)
    }

    /// Forgets a row whose deletion has been recorded.
    mutating func remove(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        rows.removeAll { $0.type.elementsEqual(type) && $0.id.elementsEqual(id) }
    }

    mutating func removeAll() {
        rows = []
    }

    /// Takes the rows of a type out, or all.
    mutating func take(type: UnsafeRawBufferPointer?) -> [Row] {
        guard let type else {
            defer { rows = [] }
            return rows
        }
        defer { rows.removeAll { $0.type.elementsEqual(type) } }
        return rows.filter { $0.type.elementsEqual(type) }
    }
}

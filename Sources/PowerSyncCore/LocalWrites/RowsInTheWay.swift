import PowerSyncSQLite

/// The rows that writes of the open transaction may remove besides their own, on one connection.
///
/// SQLite does not tell of a row that `OR REPLACE` removes for a unique key. So the rows that have the key of a new one are
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

        /// As it is spelt, whatever the collation of the column.
        private static func sql(_ table: String) -> String {
            "SELECT 1 FROM \(table) WHERE id = ?1 AND id = ?1 COLLATE BINARY"
        }

        /// Whether the row is still there.
        func exists(on connection: OpaquePointer) throws -> Bool {
            let statement = try unsafe PreparedStatement(preparing: Self.sql(table), on: connection)
            guard let statement else { return false }
            try statement.bind(checkedText: id, at: 1)
            return try statement.step()
        }
    }

    /// By type, in the order in which they were noted.
    private var rows: [[UInt8]: [Row]] = [:]
    /// Whether rows may be missing because writing them was undone.
    private var wasRolledBack = false

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ row: Row) {
        rows[row.type, default: []].append(row)
    }

    /// Forgets a row whose deletion has been recorded.
    mutating func remove(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        unsafe rows[Array(type)]?.removeAll { unsafe $0.id.elementsEqual(id) }
    }

    mutating func removeAll() {
        self = RowsInTheWay()
    }

    /// A savepoint was rolled back, explicitly or because a statement failed.
    mutating func rollBackToSavepoint() {
        wasRolledBack = !rows.isEmpty
    }

    /// Forgets the rows that are missing because writing them was undone.
    ///
    /// Call it before a statement notes or takes rows: a removal is always preceded by the note of its own statement, so what is missing
    /// right after a rollback was not removed.
    mutating func forgetUndone(on connection: OpaquePointer) throws {
        guard wasRolledBack else { return }
        wasRolledBack = false
        rows = try rows.mapValues { try $0.filter { try unsafe $0.exists(on: connection) } }
    }

    /// Takes the rows of a type out, or all, type by type.
    mutating func take(type: UnsafeRawBufferPointer?) -> [Row] {
        guard let type = unsafe type else {
            defer { rows = [:] }
            return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap(\.value)
        }
        return unsafe rows.removeValue(forKey: Array(type)) ?? []
    }
}

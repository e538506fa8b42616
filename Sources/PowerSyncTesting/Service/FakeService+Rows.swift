public import PowerSync

// What the backend's database holds.
extension FakeService {
    /// Inserts rows, or replaces those with the same ids, in one transaction.
    ///
    /// ```swift
    /// try service.put("todos", ["id": "t1", "list_id": "l1", "title": "Milk"])
    /// ```
    ///
    /// - Parameters:
    ///   - table: The table, as the sync config names it.
    ///   - rows: The rows, each with an `id`.
    /// - Throws: ``FakeServiceError``; then nothing has changed.
    public func put(_ table: String, _ rows: Row...) throws {
        try put(table, rows)
    }

    /// Inserts rows, or replaces those with the same ids, in one transaction.
    ///
    /// - Parameters:
    ///   - table: The table, as the sync config names it.
    ///   - rows: The rows, each with an `id`.
    /// - Throws: ``FakeServiceError``; then nothing has changed.
    public func put(_ table: String, _ rows: [Row]) throws {
        try transaction { changes in
            for row in rows { changes.put(table, row) }
        }
    }

    /// Inserts a value as a row, or replaces the one with the same id.
    ///
    /// ```swift
    /// try service.put(Todo(id: "t1", listID: "l1", title: "Milk"), into: "todos")
    /// ```
    ///
    /// - Parameters:
    ///   - row: The value; its properties are columns, as for the database's `insert(_:into:)`.
    ///   - table: The table, as the sync config names it.
    ///   - format: How names and dates are written.
    /// - Throws: ``FakeServiceError``, or `TypedRowError` when the value cannot be a row.
    public func put(_ row: some Encodable, into table: String, format: RowFormat = RowFormat()) throws {
        try transaction { try $0.put(row, into: table, format: format) }
    }

    /// Changes some columns of a row.
    ///
    /// - Parameters:
    ///   - table: The table, as the sync config names it.
    ///   - id: The row.
    ///   - values: The columns.
    /// - Throws: ``FakeServiceError``, also when there is no such row.
    public func update(_ table: String, _ id: String, _ values: Row) throws {
        try transaction { $0.update(table, id, values) }
    }

    /// Deletes rows, in one transaction.
    ///
    /// Rows that do not exist are none to delete.
    ///
    /// - Parameters:
    ///   - table: The table, as the sync config names it.
    ///   - ids: The rows.
    /// - Throws: ``FakeServiceError`` when there is no such table.
    public func delete(_ table: String, _ ids: String...) throws {
        try transaction { changes in
            for id in ids { changes.delete(table, id) }
        }
    }

    /// Makes several changes that clients see together.
    ///
    /// ```swift
    /// try service.transaction { changes in
    ///     changes.put("lists", ["id": "l1", "owner_id": "alice"])
    ///     changes.put("todos", ["id": "t1", "list_id": "l1"])
    /// }
    /// ```
    ///
    /// - Parameter body: Notes the changes; they are made when it returns.
    /// - Throws: ``FakeServiceError`` for the first change that cannot be made, or what `body` throws; then nothing has changed.
    public func transaction(_ body: (inout Changes) throws -> Void) throws {
        var changes = Changes()
        try body(&changes)
        try rows.apply(changes.changes, isFromClient: false)
        self.changes.fire()
    }

    /// A row of the backend's database; `nil` when there is none.
    public func row(_ table: String, _ id: String) -> Row? {
        rows.row(table, id)
    }

    /// The rows of a table of the backend's database, ordered by id.
    public func rows(_ table: String) -> [Row] {
        rows.all(table)
    }

    /// Changes that clients see together; see ``transaction(_:)``.
    public struct Changes: Sendable {
        var changes: [RowChange] = []

        /// Inserts a row, or replaces the one with the same id.
        public mutating func put(_ table: String, _ row: Row) {
            changes.append(.put(table, row))
        }

        /// Inserts a value as a row, or replaces the one with the same id.
        ///
        /// - Throws: `TypedRowError` when the value cannot be a row.
        public mutating func put(_ row: some Encodable, into table: String, format: RowFormat = RowFormat()) throws {
            changes.append(.put(table, Row(try RowValues(row, table: table, format))))
        }

        /// Changes some columns of a row.
        public mutating func update(_ table: String, _ id: String, _ values: Row) {
            changes.append(.update(table, id, values))
        }

        /// Deletes a row.
        public mutating func delete(_ table: String, _ id: String) {
            changes.append(.delete(table, id))
        }
    }
}

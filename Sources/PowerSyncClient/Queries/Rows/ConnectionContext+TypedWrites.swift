import PowerSyncSQLite

// Writing typed rows. Properties are columns, `nil` is NULL; see <doc:TypedRows>.
extension ConnectionContext {
    /// Inserts a value as a row.
    ///
    /// ```swift
    /// try await database.writeTransaction { transaction in
    ///     try transaction.insert(list, into: "lists")
    ///     for todo in todos { try transaction.insert(todo, into: "todos") }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - format: How names and dates are written.
    /// - Throws: ``TypedRowError`` when the value cannot be a row, ``PowerSyncError`` when there is a row with this id, and as
    ///   any statement.
    public func insert(_ row: some Encodable, into table: String, format: RowFormat = RowFormat()) throws {
        try insert(RowValues(row, table: table, format))
    }

    /// Changes a row to what a value says: all columns that the value has.
    ///
    /// A column that has the value already, in whatever form, stays as it is and is not uploaded: what the row holds is read as
    /// the type of the property and compared as it would be written.
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names and dates are written.
    /// - Throws: ``TypedRowError`` when there is no such row, or when the value cannot be a row; ``PowerSyncError`` as any
    ///   statement.
    public func update(
        _ row: some Encodable,
        in table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) throws {
        try update(RowValues(row, table: table, format), key: key)
    }

    /// Changes a row to what a value says, or inserts it if there is none.
    ///
    /// Columns that the value does not have stay as they are, unlike with `INSERT OR REPLACE`; and only what has changed is
    /// written and uploaded, as by ``update(_:in:key:format:)``.
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names and dates are written.
    /// - Throws: ``TypedRowError`` when the value cannot be a row, and ``PowerSyncError`` as any statement.
    public func upsert(
        _ row: some Encodable,
        into table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) throws {
        try upsert(RowValues(row, table: table, format), key: key)
    }

    /// Deletes the row of a value.
    ///
    /// - Parameters:
    ///   - row: The value, of which only the key counts.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names are written.
    /// - Returns: Whether there was such a row.
    /// - Throws: ``TypedRowError`` when the value has no key, and ``PowerSyncError`` as any statement.
    @discardableResult
    public func delete(
        _ row: some Encodable,
        from table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) throws -> Bool {
        try delete(RowValues(row, table: table, only: key, format), key: key)
    }
}

extension ConnectionContext {
    func insert(_ row: RowValues) throws {
        let row = try typed(row)
        let names = row.columns.map { SQLText.identifier($0.name) }.joined(separator: ", ")
        let marks = row.columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            sql: "INSERT INTO \(SQLText.identifier(row.table)) (\(names)) VALUES (\(marks))",
            parameters: row.columns.map(\.value)
        )
    }

    func update(_ row: RowValues, key: String) throws {
        let row = try typed(row)
        let value = try row.key(key)
        // What a statement on a view has changed, SQLite does not count.
        guard let changed = try changedColumns(of: row, key, value) else {
            throw row.error(.rowNotFound, "there is no row to update", column: key)
        }
        try set(changed, of: row, key, value)
    }

    func upsert(_ row: RowValues, key: String) throws {
        let row = try typed(row)
        let value = try row.key(key)
        guard let changed = try changedColumns(of: row, key, value) else { return try insert(row) }
        try set(changed, of: row, key, value)
    }

    func delete(_ row: RowValues, key: String) throws -> Bool {
        let value = try row.key(key)
        guard try contains(row, key, value) else { return false }
        try execute(
            sql: "DELETE FROM \(SQLText.identifier(row.table)) WHERE \(SQLText.identifier(key)) = ?",
            parameters: [value]
        )
        return true
    }

    /// The row with values of the kinds of its columns.
    private func typed(_ row: RowValues) throws -> RowValues {
        try row.typed(by: kinds.columns(ofView: row.table))
    }

    private func contains(_ row: RowValues, _ key: String, _ value: PowerSyncDataType) throws -> Bool {
        let name = SQLText.identifier(row.table) + "." + SQLText.identifier(key)
        // With its table, since SQLite takes a name in quotes that it does not know for a text.
        let sql = "SELECT 1 FROM \(SQLText.identifier(row.table)) WHERE \(name) = ?"
        return try getOptional(sql: sql, parameters: [value]) { _ in () } != nil
    }

    /// The columns that do not have their values yet; `nil` when there is no such row.
    ///
    /// These are all, if there are several such rows.
    private func changedColumns(
        of row: RowValues,
        _ key: String,
        _ value: PowerSyncDataType
    ) throws -> [RowValues.Column]? {
        let columns = row.columns(without: key)
        let table = SQLText.identifier(row.table)
        let names = ([key] + columns.map(\.name)).map { "\(table).\(SQLText.identifier($0))" }
        let sql = "SELECT \(names.joined(separator: ", ")) FROM \(table) WHERE \(names[0]) = ? LIMIT 2"
        let format = row.format
        let rows = try getAll(sql: sql, parameters: [value]) { cursor -> [RowValues.Column] in
            // Other cursors do not tell the types of their values.
            guard let cursor = cursor as? RowCursor else { return columns }
            let stored = cursor.decoder(format)
            return columns.enumerated().filter { !$1.isStored(at: $0 + 1, of: stored) }.map(\.element)
        }
        return rows.count > 1 ? columns : rows.first
    }

    private func set(
        _ changed: [RowValues.Column],
        of row: RowValues,
        _ key: String,
        _ value: PowerSyncDataType
    ) throws {
        let columns = row.columns(without: key)
        guard !columns.isEmpty else { return }
        let table = SQLText.identifier(row.table)
        let changes =
            changed.isEmpty
            // An update of a row that is the same is one nevertheless, also for triggers.
            ? columns.map { SQLText.identifier($0.name) }.map { "\($0) = \(table).\($0)" }
            : changed.map { "\(SQLText.identifier($0.name)) = ?" }
        try execute(
            sql: "UPDATE \(table) SET \(changes.joined(separator: ", ")) WHERE \(SQLText.identifier(key)) = ?",
            parameters: changed.map(\.value) + [value]
        )
    }
}

extension ConnectionContext {
    /// The kinds of the columns of the file's schema; none on a connection that is not ours.
    fileprivate var kinds: ColumnKinds {
        switch self {
        case let connection as LocalConnection: connection.kinds
        case let connection as LeasedConnection: connection.kinds
        case let transaction as TransactionContext: transaction.connection.kinds
        default: ColumnKinds(nil)
        }
    }
}

extension RowValues {
    fileprivate func columns(without key: String) -> [Column] {
        columns.filter { $0.name != key }
    }
}

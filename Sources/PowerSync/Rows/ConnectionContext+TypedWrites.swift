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
    /// uploaded.
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
        let names = row.columns.map { SQLText.identifier($0.name) }.joined(separator: ", ")
        let marks = row.columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            sql: "INSERT INTO \(SQLText.identifier(row.table)) (\(names)) VALUES (\(marks))",
            parameters: row.columns.map(\.value)
        )
    }

    func update(_ row: RowValues, key: String) throws {
        let value = try row.key(key)
        // What a statement on a view has changed, SQLite does not count.
        guard try contains(row, key, value) else {
            throw row.error(.rowNotFound, "there is no row to update", column: key)
        }
        try set(row, key, value)
    }

    func upsert(_ row: RowValues, key: String) throws {
        let value = try row.key(key)
        if try contains(row, key, value) { try set(row, key, value) } else { try insert(row) }
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

    private func contains(_ row: RowValues, _ key: String, _ value: PowerSyncDataType) throws -> Bool {
        let name = SQLText.identifier(row.table) + "." + SQLText.identifier(key)
        // With its table, since SQLite takes a name in quotes that it does not know for a text.
        let sql = "SELECT 1 FROM \(SQLText.identifier(row.table)) WHERE \(name) = ?"
        return try getOptional(sql: sql, parameters: [value]) { _ in () } != nil
    }

    private func set(_ row: RowValues, _ key: String, _ value: PowerSyncDataType) throws {
        let columns = row.columns.filter { $0.name != key }
        guard !columns.isEmpty else { return }
        let changes = columns.map { "\(SQLText.identifier($0.name)) = ?" }.joined(separator: ", ")
        try execute(
            sql: "UPDATE \(SQLText.identifier(row.table)) SET \(changes) WHERE \(SQLText.identifier(key)) = ?",
            parameters: columns.map(\.value) + [value]
        )
    }
}

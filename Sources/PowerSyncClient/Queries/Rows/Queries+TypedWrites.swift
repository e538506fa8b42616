// Writing one typed row in a transaction of its own. For several, see `writeTransaction(callback:)`.
extension Queries {
    /// Inserts a value as a row, in a transaction of its own.
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - format: How names and dates are written.
    /// - Throws: What ``ConnectionContext/insert(_:into:format:)`` throws.
    public func insert(_ row: some Encodable, into table: String, format: RowFormat = RowFormat()) async throws {
        let row = try RowValues(row, table: table, format)
        try await writeTransaction { try $0.insert(row) }
    }

    /// Changes a row to what a value says, in a transaction of its own.
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names and dates are written.
    /// - Throws: What ``ConnectionContext/update(_:in:key:format:)`` throws.
    public func update(
        _ row: some Encodable,
        in table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) async throws {
        let row = try RowValues(row, table: table, format)
        try await writeTransaction { try $0.update(row, key: key) }
    }

    /// Changes a row to what a value says, or inserts it if there is none, in a transaction of its own.
    ///
    /// - Parameters:
    ///   - row: The value.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names and dates are written.
    /// - Throws: What ``ConnectionContext/upsert(_:into:key:format:)`` throws.
    public func upsert(
        _ row: some Encodable,
        into table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) async throws {
        let row = try RowValues(row, table: table, format)
        try await writeTransaction { try $0.upsert(row, key: key) }
    }

    /// Deletes the row of a value, in a transaction of its own.
    ///
    /// - Parameters:
    ///   - row: The value, of which only the key counts.
    ///   - table: A view of the schema, or a table of the app.
    ///   - key: The column that tells which row it is.
    ///   - format: How names are written.
    /// - Returns: Whether there was such a row.
    /// - Throws: What ``ConnectionContext/delete(_:from:key:format:)`` throws.
    @discardableResult
    public func delete(
        _ row: some Encodable,
        from table: String,
        key: String = "id",
        format: RowFormat = RowFormat()
    ) async throws -> Bool {
        let row = try RowValues(row, table: table, only: key, format)
        return try await writeTransaction { try $0.delete(row, key: key) }
    }
}

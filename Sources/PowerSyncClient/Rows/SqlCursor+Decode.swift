extension SqlCursor {
    /// Makes a value of the row.
    ///
    /// ```swift
    /// let options = WatchOptions(sql: "SELECT * FROM todos") { try $0.decode(Todo.self) }
    /// ```
    ///
    /// Where the columns are is found out once for each query.
    ///
    /// - Parameters:
    ///   - type: A type whose properties are columns, or, of a row with one column, one value.
    ///   - format: How names and dates are written.
    /// - Returns: The value.
    /// - Throws: ``TypedRowError``, or what the type's own code throws.
    public func decode<Row: Decodable>(_ type: Row.Type, format: RowFormat = RowFormat()) throws -> Row {
        try decode(type, format: format, sql: nil)
    }

    /// Makes a value of the row of a query.
    func decode<Row: Decodable>(_ type: Row.Type, format: RowFormat, sql: String?) throws -> Row {
        guard let cursor = self as? RowCursor else {
            return try RowDecoder(ForeignRow(self), format).decode(type, sql: sql)
        }
        return try cursor.decoder(format).decode(type)
    }
}

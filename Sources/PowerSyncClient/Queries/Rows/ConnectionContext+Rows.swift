extension ConnectionContext {
    /// Reads the first row as a type.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    /// - Returns: The row.
    /// - Throws: ``TypedRowError`` when the row is not of this type, ``PowerSyncError`` when there is no row, and as any query.
    public func get<Row: Decodable & SendableMetatype>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> Row {
        try get(sql: sql, parameters: parameters) { try $0.decode(type, format: format, sql: sql) }
    }

    /// Reads the first row as a type.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    /// - Returns: `nil` when there is no row.
    /// - Throws: ``TypedRowError`` when the row is not of this type, and ``PowerSyncError`` as any query.
    public func getOptional<Row: Decodable & SendableMetatype>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> Row? {
        try getOptional(sql: sql, parameters: parameters) { try $0.decode(type, format: format, sql: sql) }
    }

    /// Reads all rows as a type.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    /// - Returns: The rows.
    /// - Throws: ``TypedRowError`` when a row is not of this type, and ``PowerSyncError`` as any query.
    public func getAll<Row: Decodable & SendableMetatype>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> [Row] {
        try getAll(sql: sql, parameters: parameters) { try $0.decode(type, format: format, sql: sql) }
    }
}

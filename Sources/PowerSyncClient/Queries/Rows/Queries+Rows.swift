// Reading typed rows. Names of columns are those of the type's coding keys; see <doc:TypedRows>.
extension Queries {
    /// Reads the first row as a type.
    ///
    /// ```swift
    /// let open = try await database.get("SELECT count(*) FROM todos WHERE done = 0", as: Int.self)
    /// ```
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
    ) async throws -> Row {
        try await readLock { try $0.get(sql: sql, parameters: parameters, as: type, format: format) }
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
    ) async throws -> Row? {
        try await readLock { try $0.getOptional(sql: sql, parameters: parameters, as: type, format: format) }
    }

    /// Reads all rows as a type.
    ///
    /// ```swift
    /// struct Todo: Codable, Identifiable {
    ///     var id: String
    ///     var title: String
    ///     var done: Bool
    /// }
    /// let todos = try await database.getAll("SELECT * FROM todos", as: Todo.self)
    /// ```
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
    ) async throws -> [Row] {
        try await readLock { try $0.getAll(sql: sql, parameters: parameters, as: type, format: format) }
    }

    /// Reads the first row of a query without parameters as a type.
    public func get<Row: Decodable & SendableMetatype>(
        _ sql: String,
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) async throws -> Row {
        try await get(sql: sql, parameters: [], as: type, format: format)
    }

    /// Reads the first row of a query without parameters as a type, `nil` when there is none.
    public func getOptional<Row: Decodable & SendableMetatype>(
        _ sql: String,
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) async throws -> Row? {
        try await getOptional(sql: sql, parameters: [], as: type, format: format)
    }

    /// Reads all rows of a query without parameters as a type.
    public func getAll<Row: Decodable & SendableMetatype>(
        _ sql: String,
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) async throws -> [Row] {
        try await getAll(sql: sql, parameters: [], as: type, format: format)
    }

    /// Watches a query whose rows are of a type, with the default throttle.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    /// - Returns: The results, as of ``watch(options:)``. A row that is not of this type ends the stream with a
    ///   ``TypedRowError``.
    /// - Throws: What ``watch(options:)`` throws.
    public func watch<Row: Decodable & SendableMetatype>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> AsyncThrowingStream<[Row], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: parameters, as: type, format: format))
    }

    /// Watches the first row of a query, which is of a type, with the default throttle.
    ///
    /// ```swift
    /// for try await todo in try database.watchOptional(sql: "SELECT * FROM todos WHERE id = ?", parameters: [id], as: Todo.self) {
    ///     show(todo)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    /// - Returns: The first row of each result, `nil` while there is none; otherwise as ``watch(sql:parameters:as:format:)``.
    /// - Throws: What ``watch(options:)`` throws.
    public func watchOptional<Row: Decodable & Sendable>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> AsyncThrowingStream<Row?, any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: parameters, as: type, format: format)).firstRows()
    }

    /// Watches a query without parameters whose rows are of a type, with the default throttle.
    public func watch<Row: Decodable & SendableMetatype>(
        _ sql: String,
        as type: Row.Type,
        format: RowFormat = RowFormat()
    ) throws -> AsyncThrowingStream<[Row], any Error> {
        try watch(options: WatchOptions(sql: sql, as: type, format: format))
    }
}

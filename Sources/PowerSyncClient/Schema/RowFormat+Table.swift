import PowerSyncCore

extension RowFormat {
    /// Creates the format of rows of a table, for rows that are dictionaries.
    ///
    /// A `JsonValue` is what its column holds then, as in ``CrudEntry/opDataTyped``: booleans are `true` and `false`, JSON is its value, dates
    /// are ISO 8601 in UTC, texts are texts, and NULL is null. What does not fit the kind of its column stays as it is. Without a table, a
    /// `JsonValue` is JSON in any column.
    ///
    /// ```swift
    /// let format = RowFormat(of: todos)
    /// var row = try await database.get("SELECT * FROM todos LIMIT 1", as: [String: JsonValue].self, format: format)
    /// row["done"] = .bool(true)
    /// try await database.update(row, in: "todos", format: format)
    /// ```
    ///
    /// - Parameters:
    ///   - table: The table of the schema. Columns of a result that it does not have are like columns without a kind.
    ///   - keys: The names of columns.
    ///   - dates: What a `Date` is stored as.
    public init(of table: Table, keys: Keys = .unchanged, dates: Dates = .iso8601) {
        self.init(keys: keys, dates: dates)
        let kinds = table.columns.compactMap { column in column.kind.map { (column.name, ClientColumn.Kind($0)) } }
        self.kinds = Dictionary(kinds) { $1 }
    }
}

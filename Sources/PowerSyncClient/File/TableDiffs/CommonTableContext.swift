import PowerSyncSQLite

/// A connection whose statements know one more table, a common table expression.
struct CommonTableContext: ConnectionContext {
    let connection: any ConnectionContext
    let name: String
    let query: String

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try connection.execute(sql: adding(to: sql), parameters: parameters)
    }

    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try connection.getOptional(sql: adding(to: sql), parameters: parameters, mapper: mapper)
    }

    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try connection.getAll(sql: adding(to: sql), parameters: parameters, mapper: mapper)
    }

    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        try connection.get(sql: adding(to: sql), parameters: parameters, mapper: mapper)
    }

    private func adding(to sql: String) -> String {
        CommonTableContext.adding("\(name) AS (\(query))", to: sql)
    }

    /// The statement with one more common table expression, before its own.
    static func adding(_ table: String, to sql: String) -> String {
        let statement = SQLText.skippingBlanks(sql[...])
        guard let afterWith = skipping("WITH", statement) else { return "WITH \(table) \(statement)" }
        if let afterRecursive = skipping("RECURSIVE", SQLText.skippingBlanks(afterWith)) {
            return "WITH RECURSIVE \(table), \(afterRecursive)"
        }
        return "WITH \(table), \(afterWith)"
    }

    /// What follows a keyword, `nil` if something else comes first.
    private static func skipping(_ keyword: String, _ sql: Substring) -> Substring? {
        guard sql.prefix(keyword.count).uppercased() == keyword else { return nil }
        let rest = sql.dropFirst(keyword.count)
        if let next = rest.first, next.isLetter || next.isNumber || next == "_" || next == "$" { return nil }
        return rest
    }
}

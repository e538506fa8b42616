import GRDBSQLite

/// A statement on a connection that is not GRDB's, prepared and stepped through the C API.
///
/// Valid inside the callback of ``use(_:sql:parameters:_:)``; later it has no rows.
final class LeasedStatement {
    private let connection: OpaquePointer
    private var statement: OpaquePointer?
    private let cursor: RowCursor
    private let sql: String

    private init(_ connection: OpaquePointer, sql: String) throws {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            throw PowerSyncError(connection, sql: sql)
        }
        guard let statement else { throw PowerSyncError.noStatement(in: sql) }
        self.connection = connection
        self.statement = statement
        self.sql = sql
        cursor = RowCursor(statement)
    }

    /// Runs a callback with the first statement of a text, which ends with the callback.
    ///
    /// - Throws: ``PowerSyncError``, also for a text without a statement, and what the callback throws.
    static func use<R>(
        _ connection: OpaquePointer,
        sql: String,
        parameters: [PowerSyncDataType?],
        _ callback: (LeasedStatement) throws -> R
    ) throws -> R {
        let statement = try LeasedStatement(connection, sql: sql)
        defer { statement.end() }
        try statement.bind(parameters)
        return try callback(statement)
    }

    private func bind(_ parameters: [PowerSyncDataType?]) throws {
        guard let statement else { return }
        for (index, parameter) in parameters.enumerated() {
            guard parameter.bind(to: statement, at: CInt(index + 1)) == SQLITE_OK else {
                throw PowerSyncError(connection, sql: sql)
            }
        }
    }

    private func end() {
        cursor.end()
        sqlite3_finalize(statement)
        statement = nil
    }

    /// Steps to the next row.
    ///
    /// - Returns: Whether there is one.
    /// - Throws: ``PowerSyncError``.
    func step() throws -> Bool {
        guard let statement else { return false }
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw PowerSyncError(connection, sql: sql)
        }
    }
}

extension LeasedStatement: SQLiteStatementIteratorProtocol {
    func next<T>(callback: (any SqlCursor) throws -> T) throws -> T? {
        guard try step() else { return nil }
        return try callback(cursor)
    }
}

extension SQLiteConnectionLease {
    /// Runs the first statement of a text to its end, through ``pointer``.
    ///
    /// - Throws: ``PowerSyncError``.
    public func execute(sql: String, parameters: [PowerSyncDataType?]) throws -> Int64 {
        try LeasedStatement.use(pointer, sql: sql, parameters: parameters) { statement in
            while try statement.step() {}
            return Int64(sqlite3_changes64(pointer))
        }
    }

    /// Runs a callback that reads the rows of a query, through ``pointer``.
    ///
    /// - Throws: ``PowerSyncError``, or what the callback throws.
    public func withIterator<T>(
        sql: String,
        parameters: [PowerSyncDataType?],
        callback: (any SQLiteStatementIteratorProtocol) throws -> T
    ) throws -> T {
        try LeasedStatement.use(pointer, sql: sql, parameters: parameters) { try callback($0) }
    }
}

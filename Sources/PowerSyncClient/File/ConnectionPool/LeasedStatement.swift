import GRDB
import GRDBSQLite
import PowerSyncCore
import PowerSyncSQLite

/// A statement of the app on a connection that is not GRDB's, with the SDK's values and errors.
///
/// Valid inside the callback of ``use(_:sql:parameters:_:)``; later it has no rows.
///
/// `@safe`: the closure that uses it ends before the connection is given back, and it has no statement afterwards.
@safe final class LeasedStatement {
    private let connection: OpaquePointer
    /// `nil` after the last row or an error: another step would run the statement again.
    private var statement: PreparedStatement?
    /// Made after the first step, which may compile the statement anew, for a schema with more columns.
    private var cursor: RowCursor?
    private let sql: String

    /// Prepares the only statement of a text.
    private convenience init(_ connection: OpaquePointer, sql: String) throws {
        var rest = sql[...]
        let statement = try unsafe LeasedStatement.prepare(&rest, of: sql, on: connection)
        guard let statement else { throw PowerSyncError.noStatement(in: sql) }
        guard SQLText.statements(String(rest)).isEmpty else { throw PowerSyncError.severalStatements(in: sql) }
        unsafe self.init(statement, connection, sql: sql)
    }

    private init(_ statement: PreparedStatement, _ connection: OpaquePointer, sql: String) {
        unsafe self.connection = connection
        self.statement = statement
        self.sql = sql
    }

    /// Whether there is no need to step to the end: nothing is written on the way.
    var isReadonly: Bool { statement.map { unsafe sqlite3_stmt_readonly($0.handle) != 0 } ?? true }

    /// Prepares the next statement of a text; `nil` when there is none.
    private static func prepare(
        _ rest: inout Substring,
        of sql: String,
        on connection: OpaquePointer
    ) throws -> PreparedStatement? {
        try unsafe reportingErrors(of: sql, on: connection) {
            try unsafe PreparedStatement(preparingFirstOf: &rest, on: connection)
        }
    }

    /// Runs all statements of a text; each takes as many of the values as it has parameters.
    ///
    /// - Returns: How many rows they have changed.
    /// - Throws: ``PowerSyncError``, also for a text without a statement.
    static func run(_ connection: OpaquePointer, sql: String, parameters: [PowerSyncDataType?]) throws -> Int64 {
        var rest = sql[...]
        var values = parameters[...]
        var changes: Int64?
        while let prepared = try unsafe prepare(&rest, of: sql, on: connection) {
            let statement = unsafe LeasedStatement(prepared, connection, sql: sql)
            defer { statement.end() }
            let count = prepared.parameterCount
            try statement.bind(Array(values.prefix(count)))
            values = values.dropFirst(count)
            let text = unsafe sqlite3_sql(prepared.handle).map { unsafe String(cString: $0) }
            let counted = unsafe RowChanges(of: text.flatMap(SQLText.changedTable), on: connection)
            while try statement.step() {}
            changes = (changes ?? 0) + counted.count
        }
        guard let changes else { throw PowerSyncError.noStatement(in: sql) }
        guard values.isEmpty else {
            let expected = parameters.count - values.count
            throw PowerSyncError.parameterCount(parameters.count, insteadOf: expected, sql: sql)
        }
        return changes
    }

    /// Runs a callback with the only statement of a text, which ends with the callback.
    ///
    /// - Throws: ``PowerSyncError``, also for a text without a statement or with several, and what the callback throws.
    static func use<R>(
        _ connection: OpaquePointer,
        sql: String,
        parameters: [PowerSyncDataType?],
        _ callback: (LeasedStatement) throws -> R
    ) throws -> R {
        let statement = try unsafe LeasedStatement(connection, sql: sql)
        defer { statement.end() }
        try statement.bind(parameters)
        return try callback(statement)
    }

    private func bind(_ parameters: [PowerSyncDataType?]) throws {
        guard let statement else { return }
        let count = statement.parameterCount
        guard parameters.count == count else {
            throw PowerSyncError.parameterCount(parameters.count, insteadOf: count, sql: sql)
        }
        for (index, parameter) in parameters.enumerated() {
            let code = parameter.bind(to: statement, at: CInt(index + 1))
            guard code == SQLITE_OK else {
                throw unsafe PowerSyncError(DatabaseError(code, reportedBy: connection, sql: sql), sql: sql)
            }
        }
    }

    private func end() {
        cursor?.end()
        statement = nil
    }

    /// Steps to the next row.
    ///
    /// - Returns: Whether there is one.
    /// - Throws: ``PowerSyncError``.
    func step() throws -> Bool {
        guard let statement else { return false }
        var hasRow = false
        defer { if !hasRow { end() } }
        hasRow = try unsafe LeasedStatement.reportingErrors(of: sql, on: connection) { try statement.step() }
        return hasRow
    }

    private static func reportingErrors<T>(
        of sql: String,
        on connection: OpaquePointer,
        _ body: () throws -> T
    ) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            let offset = unsafe sqlite3_error_offset(connection)
            throw PowerSyncError(error, sql: sql, offset: offset < 0 ? nil : offset)
        }
    }
}

extension LeasedStatement: SQLiteStatementIteratorProtocol {
    func next<T>(callback: (any SqlCursor) throws -> T) throws -> T? {
        guard try step(), let statement else { return nil }
        let cursor = unsafe cursor ?? RowCursor(PreparedStatement(borrowing: statement.handle))
        self.cursor = cursor
        cursor.didStep()
        return try callback(cursor)
    }
}

extension SQLiteConnectionLease {
    /// Runs the statements of a text to their ends, through ``pointer``.
    ///
    /// - Throws: ``PowerSyncError``.
    public func execute(sql: String, parameters: [PowerSyncDataType?]) throws -> Int64 {
        try unsafe LeasedStatement.run(pointer, sql: sql, parameters: parameters)
    }

    /// Runs a callback that reads the rows of a query, through ``pointer``.
    ///
    /// - Throws: ``PowerSyncError``, or what the callback throws.
    public func withIterator<T>(
        sql: String,
        parameters: [PowerSyncDataType?],
        callback: (any SQLiteStatementIteratorProtocol) throws -> T
    ) throws -> T {
        try unsafe LeasedStatement.use(pointer, sql: sql, parameters: parameters) { try callback($0) }
    }
}

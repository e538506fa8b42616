import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// A statement of the app on a connection that is not GRDB's, with the SDK's values and errors.
///
/// Valid inside the callback of ``use(_:sql:parameters:_:)``; later it has no rows.
final class LeasedStatement {
    private let connection: OpaquePointer
    /// `nil` after the last row or an error: another step would run the statement again.
    private var statement: PreparedStatement?
    /// Made after the first step, which may compile the statement anew, for a schema with more columns.
    private var cursor: RowCursor?
    private let sql: String

    private init(_ connection: OpaquePointer, sql: String) throws {
        let statement = try LeasedStatement.reportingErrors(of: sql, on: connection) {
            try PreparedStatement(preparing: sql, on: connection)
        }
        guard let statement else { throw PowerSyncError.noStatement(in: sql) }
        self.connection = connection
        self.statement = statement
        self.sql = sql
    }

    /// Whether there is no need to step to the end: nothing is written on the way.
    var isReadonly: Bool { statement.map { sqlite3_stmt_readonly($0.handle) != 0 } ?? true }

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
            let code = parameter.bind(to: statement, at: CInt(index + 1))
            guard code == SQLITE_OK else {
                throw PowerSyncError(DatabaseError(code, reportedBy: connection, sql: sql), sql: sql)
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
        hasRow = try LeasedStatement.reportingErrors(of: sql, on: connection) { try statement.step() }
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
            let offset = sqlite3_error_offset(connection)
            throw PowerSyncError(error, sql: sql, offset: offset < 0 ? nil : offset)
        }
    }
}

extension LeasedStatement: SQLiteStatementIteratorProtocol {
    func next<T>(callback: (any SqlCursor) throws -> T) throws -> T? {
        guard try step(), let statement else { return nil }
        let cursor = cursor ?? RowCursor(PreparedStatement(borrowing: statement.handle))
        self.cursor = cursor
        cursor.didStep()
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

import GRDBSQLite

/// An error of a statement that runs inside one of our SQL functions or virtual tables.
struct StatementFailure: Error {
    /// The extended result code.
    let code: Int32
    /// The statement and SQLite's message.
    let message: String
}

/// A statement of one connection that is prepared on its first use and kept until the connection closes.
///
/// Every run ends with a reset: a statement that is not reset keeps its transaction open.
final class KeptStatement {
    private let handle: OpaquePointer
    private let sql: String
    private var statement: OpaquePointer?

    init(_ handle: OpaquePointer, _ sql: String) {
        self.handle = handle
        self.sql = sql
    }

    deinit {
        close()
    }

    /// Runs the statement to its end, or to its first row.
    ///
    /// - Parameter bind: Binds the parameters. Values need to live until `run` returns.
    /// - Returns: The integer in the first column of the first row, 0 if there was no row.
    /// - Throws: What SQLite reports.
    func run(_ bind: (_ statement: OpaquePointer) -> Void = { _ in }) throws(StatementFailure) -> Int64 {
        try firstRow(bind) { sqlite3_column_int64($0, 0) } ?? 0
    }

    /// Runs the statement to its end, or to its first row: at that, SQLite has made all changes.
    ///
    /// - Parameters:
    ///   - bind: Binds the parameters. Values need to live until this returns.
    ///   - read: Reads the columns of the first row.
    /// - Returns: What was read, `nil` if there was no row.
    /// - Throws: What SQLite reports.
    func firstRow<Value>(
        _ bind: (_ statement: OpaquePointer) -> Void,
        _ read: (_ statement: OpaquePointer) -> Value
    ) throws(StatementFailure) -> Value? {
        let statement = try prepared()
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        bind(statement)
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return read(statement)
        case SQLITE_DONE: return nil
        default: throw failure()
        }
    }

    /// Finalises the statement.
    ///
    /// The next run prepares it again.
    func close() {
        sqlite3_finalize(statement)
        statement = nil
    }

    private func prepared() throws(StatementFailure) -> OpaquePointer {
        if let statement {
            return statement
        }
        guard
            sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
            let statement
        else { throw failure() }
        return statement
    }

    private func failure() -> StatementFailure {
        let code = sqlite3_extended_errcode(handle)
        let message = String(cString: sqlite3_errmsg(handle))
        return StatementFailure(
            code: code,
            message: SQLiteFailureDescription.describe(statement: sql, code: code, message: message)
        )
    }
}

import GRDB
import GRDBSQLite

extension DatabaseError {
    /// The error that a connection has just reported, with the SQL but not its values.
    ///
    /// - Parameters:
    ///   - code: What the call returned.
    ///   - connection: The connection; its extended code is taken, if it is about the same error.
    ///   - sql: The statement.
    package init(_ code: CInt, reportedBy connection: OpaquePointer?, sql: String?) {
        let extendedCode = unsafe sqlite3_extended_errcode(connection)
        // Calls that SQLite refuses as a misuse leave no trace in the connection.
        guard extendedCode & 0xff == code & 0xff else {
            unsafe self.init(
                resultCode: ResultCode(rawValue: code),
                message: String(cString: sqlite3_errstr(code)),
                sql: sql
            )
            return
        }
        unsafe self.init(
            resultCode: ResultCode(rawValue: extendedCode),
            message: sqlite3_errmsg(connection).map { unsafe String(cString: $0) },
            sql: sql
        )
    }
}

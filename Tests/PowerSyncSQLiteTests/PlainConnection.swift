import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// A connection to a database in memory that GRDB does not know.
final class PlainConnection {
    let handle: OpaquePointer
    private var isClosed = false

    init() throws {
        var handle: OpaquePointer?
        let code = sqlite3_open(":memory:", &handle)
        guard code == SQLITE_OK, let handle else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        self.handle = handle
    }

    deinit {
        if !isClosed { sqlite3_close_v2(handle) }
    }

    /// Runs a statement to its end.
    func run(_ sql: String) throws {
        try PreparedStatement(preparing: sql, on: handle)?.run()
    }

    /// Closes the connection.
    ///
    /// - Returns: SQLite's result code: `SQLITE_BUSY` while there are statements.
    func close() -> CInt {
        let code = sqlite3_close(handle)
        isClosed = code == SQLITE_OK
        return code
    }

    /// How many statements there are.
    var statementCount: Int {
        var count = 0
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            count += 1
            statement = sqlite3_next_stmt(handle, current)
        }
        return count
    }
}

import GRDB
import GRDBSQLite
import PowerSyncCore

/// A connection without GRDB, and at first without our functions: what a C program would open.
///
/// It has the pragmas of our writer. Floors that write run on one of these, beside an idle pool.
final class PlainDatabase {
    private let handle: OpaquePointer

    /// Opens a file.
    init(path: String) throws {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let handle else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        self.handle = handle
        try execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 6291456;
            PRAGMA cache_size = -51200; PRAGMA synchronous = NORMAL;
            """
        )
    }

    deinit {
        // Waits for the statements that are still there.
        sqlite3_close_v2(handle)
    }

    /// Adds our SQL functions, so that views can be written to.
    func installFunctions() throws {
        try SQLFunctions.install(on: handle)
    }

    /// Prepares a statement.
    func prepare(_ sql: String) throws -> PlainStatement {
        try PlainStatement(handle, sql)
    }

    /// Runs statements that give no rows.
    func execute(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql) }
    }
}

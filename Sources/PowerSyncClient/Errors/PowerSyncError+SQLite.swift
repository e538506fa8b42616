import GRDB
import GRDBSQLite
import PowerSyncCore

extension PowerSyncError {
    /// Creates the public form of an error that GRDB reported.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - sql: The statement as the caller wrote it; by default what GRDB knows.
    ///   - offset: The byte offset of the error in the statement, when SQLite knows it.
    init(_ error: DatabaseError, sql: String? = nil, offset: Int32? = nil) {
        let code = error.extendedResultCode.rawValue
        let hint = PowerSyncError.hint(code: code, message: error.message ?? "", sql: sql ?? error.sql ?? "")
        self = .sqliteError(
            extendedResultCode: code,
            offset: offset,
            message: hint.map { "\(error.message ?? ""); \($0)" } ?? error.message,
            errorString: unsafe sqlite3_errstr(code).map { unsafe String(cString: $0) },
            sql: sql ?? error.sql
        )
    }

    /// The public form of an error out of the engine or GRDB.
    ///
    /// Errors of other types stay as they are.
    static func wrapping(_ error: any Error) -> any Error {
        switch error {
        case let error as DatabaseError: PowerSyncError(error)
        case let error as LocalDatabaseError:
            unsafe PowerSyncError.sqliteError(
                extendedResultCode: error.resultCode,
                message: error.description,
                errorString: sqlite3_errstr(error.resultCode).map { unsafe String(cString: $0) }
            )
        case let error as RawTableError:
            unsafe PowerSyncError.sqliteError(
                extendedResultCode: error.resultCode,
                message: error.message,
                errorString: sqlite3_errstr(error.resultCode).map { unsafe String(cString: $0) }
            )
        default: error
        }
    }

    /// The public form of an error that ended a sync iteration.
    ///
    /// It can have data of a row in its message, unlike the error itself: show it to the app, and log the other one.
    static func describing(_ error: any Error) -> any Error {
        guard let error = error as? SyncEngineError else { return wrapping(error) }
        let context = error.context.map { "\(RawTableError.contextMark)\($0))" } ?? ""
        guard let databaseError = error.databaseError else {
            return PowerSyncError.syncFailed(error.message + context)
        }
        let code = databaseError.extendedResultCode.rawValue
        return unsafe PowerSyncError.sqliteError(
            extendedResultCode: code,
            message: (databaseError.message ?? error.message) + context,
            errorString: sqlite3_errstr(code).map { unsafe String(cString: $0) },
            sql: databaseError.sql
        )
    }
}

extension DatabaseError {
    /// Whether another connection is in the way, so that trying again may help.
    var isContention: Bool {
        resultCode == .SQLITE_BUSY || resultCode == .SQLITE_LOCKED
    }
}

extension PowerSyncError {
    /// Runs a body whose errors come from the engine or GRDB.
    static func wrappingErrors<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw wrapping(error)
        }
    }
}

import GRDB
import GRDBSQLite
import PowerSyncProtocol

/// How an error of ours looks to a SQL caller (docs/database.md "Errors of SQL functions").
enum SQLiteFailureDescription {
    /// The extended result code and the message.
    static func describe(_ error: any Error) -> (code: Int32, message: String) {
        switch error {
        case let error as LocalDatabaseError:
            return (error.resultCode, error.description)
        case let error as ColumnRefusal:
            return (error.resultCode, error.message)
        case let error as RawTableError:
            return (error.resultCode, error.message)
        case let error as DatabaseError:
            let code = error.extendedResultCode.rawValue
            let message = error.message ?? "\(error.extendedResultCode)"
            guard let sql = error.sql else { return (code, message) }
            // A statement inside one of our functions or virtual tables.
            return (code, "statement \(sql): internal SQLite call returned \(SQLiteResultName.of(code)): \(message)")
        case let error as JSONError:
            let error = LocalDatabaseError.invalidArgument("expected JSON", cause: error.description)
            return (error.resultCode, error.message)
        default:
            return (SQLITE_ERROR, "\(error)")
        }
    }
}

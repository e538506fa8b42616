import GRDB
import GRDBSQLite
import PowerSyncProtocol

/// How an error of ours looks to a SQL caller (`database.md` 8).
enum SQLiteFailureDescription {
    /// The extended result code and the message.
    static func describe(_ error: any Error) -> (code: Int32, message: String) {
        switch error {
        case let error as LocalDatabaseError:
            return (error.resultCode, error.description)
        case let error as StatementFailure:
            return (error.code, error.message)
        case let error as RawTableError:
            return (error.resultCode, error.message)
        case let error as DatabaseError:
            let statement = error.sql.map { "statement \($0): " } ?? ""
            return (error.extendedResultCode.rawValue, statement + (error.message ?? "\(error.extendedResultCode)"))
        case let error as JSONError:
            let error = LocalDatabaseError.invalidArgument("expected JSON", cause: error.description)
            return (error.resultCode, error.message)
        default:
            return (SQLITE_ERROR, "\(error)")
        }
    }
}

import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// Why a value cannot be stored in a column of a view.
///
/// What JSON cannot hold would not be read back, nor uploaded, as what was written.
struct ColumnRefusal: Error, Equatable {
    /// What is wrong with the value.
    enum Reason: Equatable {
        case blob
        case infinity
        case invalidUTF8
    }

    /// The table's name in the schema.
    let table: String
    /// The column.
    let column: String
    let reason: Reason

    /// What the app reads, with the table, the column and what to do.
    var message: String {
        let place = "\(table).\(column)"
        return switch reason {
        case .blob:
            "\(place): JSON cannot hold BLOB values; store them as text (base64, hexadecimal) or as an attachment"
        case .infinity:
            "\(place): JSON cannot hold infinite numbers; store NULL or a text instead"
        case .invalidUTF8:
            "\(place): the text is not valid UTF-8; store bytes as text in base64 or hexadecimal"
        }
    }

    /// The code of the SQLite error: what `json_object` reports for a BLOB, and "invalid argument" of ours.
    var resultCode: Int32 {
        switch reason {
        case .blob: SQLITE_ERROR
        case .infinity, .invalidUTF8: LocalDatabaseError.invalidArgument("").resultCode
        }
    }

    /// The condition in SQL under which a trigger of a raw table refuses a value.
    ///
    /// Plain SQL: such triggers stay in the file, and are run by other implementations, too. Invalid UTF-8 cannot be seen there.
    static func rawTableChecks(of column: String, inTable table: String, comparingWith old: String?) -> [String] {
        let value = "NEW.\(SQLText.identifier(column))"
        let isNew = old.map { " AND \(value) IS NOT \($0).\(SQLText.identifier(column))" } ?? ""
        func check(_ condition: String, _ reason: Reason) -> String {
            let message = ColumnRefusal(table: table, column: column, reason: reason).message
            return "WHEN \(condition)\(isNew) THEN RAISE (ABORT, \(SQLText.literal(message)))"
        }
        return [
            check("typeof(\(value)) = 'blob'", .blob),
            check("\(value) IN (9e999, -9e999)", .infinity),
        ]
    }
}

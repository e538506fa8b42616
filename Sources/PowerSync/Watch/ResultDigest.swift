import GRDB
import GRDBSQLite

/// A short form of a query's result: the names of its columns, and the type and the bytes of each value.
///
/// Equal results have the same digest within a process; others have another one, but for one in 2⁶⁴.
struct ResultDigest {
    private let statement: Statement
    private var hasher = Hasher()
    private var rowCount = 0

    /// Creates the digest of a result without rows.
    ///
    /// - Parameter statement: The query, about to be stepped.
    init(_ statement: Statement) {
        self.statement = statement
    }

    /// Adds the row that the query has stepped to.
    ///
    /// Call it before anybody reads the row: SQLite converts a value where it is.
    mutating func addRow() {
        rowCount += 1
        let handle = statement.sqliteStatement
        for column in 0..<sqlite3_column_count(handle) {
            let type = sqlite3_column_type(handle, column)
            hasher.combine(type)
            switch type {
            case SQLITE_INTEGER: hasher.combine(sqlite3_column_int64(handle, column))
            case SQLITE_FLOAT: hasher.combine(sqlite3_column_double(handle, column).bitPattern)
            case SQLITE_TEXT: add(sqlite3_column_text(handle, column), ofColumn: column)
            case SQLITE_BLOB: add(sqlite3_column_blob(handle, column), ofColumn: column)
            default: break
            }
        }
    }

    private mutating func add(_ bytes: UnsafeRawPointer?, ofColumn column: CInt) {
        // The byte count after one of the functions above is that of its value.
        let count = Int(sqlite3_column_bytes(statement.sqliteStatement, column))
        hasher.combine(count)
        if let bytes { hasher.combine(bytes: UnsafeRawBufferPointer(start: bytes, count: count)) }
    }

    /// The digest.
    func finish() -> Int {
        var hasher = hasher
        hasher.combine(rowCount)
        for column in 0..<sqlite3_column_count(statement.sqliteStatement) {
            hasher.combine(sqlite3_column_name(statement.sqliteStatement, column).map { String(cString: $0) })
        }
        return hasher.finalize()
    }
}

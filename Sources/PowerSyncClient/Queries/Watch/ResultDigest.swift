import GRDB
import PowerSyncSQLite

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
    /// Call it before the row is read: SQLite converts a value where it is.
    mutating func addRow() {
        rowCount += 1
        let row = unsafe PreparedStatement(borrowing: statement.sqliteStatement)
        for column in 0..<row.columnCount {
            switch row.storageClass(at: column) {
            case .null: hasher.combine(0 as UInt8)
            case .integer:
                hasher.combine(1 as UInt8)
                hasher.combine(row.integer(at: column))
            case .real:
                hasher.combine(2 as UInt8)
                hasher.combine(row.double(at: column).bitPattern)
            case .text: unsafe add(row.text(at: column), type: 3)
            case .blob: unsafe add(row.blob(at: column), type: 4)
            }
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer?, type: UInt8) {
        hasher.combine(type)
        unsafe hasher.combine(bytes?.count ?? 0)
        if let bytes = unsafe bytes { unsafe hasher.combine(bytes: bytes) }
    }

    /// The digest.
    func finish() -> Int {
        var hasher = hasher
        hasher.combine(rowCount)
        let row = unsafe PreparedStatement(borrowing: statement.sqliteStatement)
        for column in 0..<row.columnCount { hasher.combine(row.name(of: column)) }
        return hasher.finalize()
    }
}

import GRDB
import GRDBSQLite

/// A prepared statement that is stepped through the SQLite C API: the one place of the service that meets its pointers.
///
/// GRDB prepares, caches and finalises the statement. This type exists for the statements that run once per row or per
/// operation; everything else goes through GRDB. It is used inside the transaction that made it, and bound values are
/// copied by SQLite, so no pointer leaves a call.
struct PreparedStatement {
    private let statement: Statement
    private let handle: SQLiteStatement

    /// Takes a statement from the connection's cache, or prepares it.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - sql: Must not be in use by another value of this type that is being stepped.
    /// - Throws: `DatabaseError` when SQLite cannot compile it.
    init(_ db: Database, sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
        reset()
    }

    // MARK: Binding, parameters counted from 1

    /// Binds an integer.
    func bind(_ value: Int64, at index: CInt) {
        sqlite3_bind_int64(handle, index, value)
    }

    /// Binds a double.
    ///
    /// NaN becomes NULL.
    func bind(_ value: Double, at index: CInt) {
        sqlite3_bind_double(handle, index, value)
    }

    /// Binds a text.
    func bind(_ text: String, at index: CInt) {
        var text = text
        text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { characters in
                // A null pointer would bind NULL instead of the empty text.
                withUnsafePointer(to: CChar(0)) { empty in
                    let start = characters.baseAddress ?? empty
                    _ = sqlite3_bind_text64(
                        handle,
                        index,
                        start,
                        UInt64(characters.count),
                        Self.copying,
                        UInt8(SQLITE_UTF8)
                    )
                }
            }
        }
    }

    /// Binds bytes.
    func bind(_ bytes: UnsafeRawBufferPointer, at index: CInt) {
        if let start = bytes.baseAddress, bytes.count > 0 {
            sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), Self.copying)
        } else {
            sqlite3_bind_zeroblob(handle, index, 0)
        }
    }

    /// Binds NULL.
    func bindNull(at index: CInt) {
        sqlite3_bind_null(handle, index)
    }

    // MARK: Running

    /// Advances to the next row.
    ///
    /// - Returns: Whether there is one. After `false` the statement can be bound again.
    /// - Throws: `DatabaseError`, or `CancellationError` when the task was cancelled meanwhile; the statement can be bound
    ///   again.
    func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return false
        }
        let message = sqlite3_errmsg(sqlite3_db_handle(handle)).map { String(cString: $0) }
        reset()
        // GRDB interrupts the statement of a task that is cancelled.
        if code == SQLITE_INTERRUPT { throw CancellationError() }
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message, sql: statement.sql)
    }

    /// Runs a statement that has no rows.
    func run() throws {
        while try step() {}
    }

    /// Ends the execution and forgets the bound values.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Reading the current row, columns counted from 0

    /// Whether a column is NULL.
    func isNull(at column: CInt) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The storage classes of SQLite.
    enum Kind {
        case null, integer, real, text, blob
    }

    /// The storage class of a column.
    func kind(at column: CInt) -> Kind {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    /// An integer; 0 for NULL.
    func integer(at column: CInt) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// A double; 0 for NULL.
    func double(at column: CInt) -> Double {
        sqlite3_column_double(handle, column)
    }

    /// A text as a string, with invalid UTF-8 repaired; empty for NULL.
    func string(at column: CInt) -> String {
        withText(at: column) { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a text, valid during the call; none for NULL.
    func withText<Result>(at column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_column_text(handle, column)
        // `sqlite3_column_bytes` after `sqlite3_column_text` is the length of that very text.
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The bytes of a blob, valid during the call; none for NULL.
    func withBlob<Result>(at column: CInt, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_column_blob(handle, column)
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// `SQLITE_TRANSIENT`, a macro that Swift does not import.
    private static let copying = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

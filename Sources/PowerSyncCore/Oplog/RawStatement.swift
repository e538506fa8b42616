import GRDB
import GRDBSQLite

/// A prepared statement that is stepped through the SQLite C API: the one place of the engine where it meets pointers.
///
/// GRDB prepares, caches and finalises the statement; this type binds, steps and reads it without making Swift values
/// of texts. It exists for the hot loops only (one execution for every operation or row).
///
/// Bound texts are not copied (`SQLITE_STATIC`), so they must stay in place until the execution ends: with ``run()``, with
/// a ``step()`` that returns `false` or throws, or with ``reset()``. All of these forget the bound values. Texts read from
/// a row are valid until the next of these calls.
struct RawStatement {
    private let statement: Statement
    private let handle: SQLiteStatement

    /// Prepares a statement, or takes it from the connection's cache.
    ///
    /// Two values with the same SQL share the statement, so they must not be stepped at the same time.
    init(_ db: Database, sql: String) throws {
        let cached = try db.cachedStatement(sql: sql)
        statement = cached.isPrepared(from: sql) ? cached : try db.makeStatement(sql: sql)
        handle = statement.sqliteStatement
        reset()
    }

    /// The number of parameters.
    var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

    /// The name of a column of the result, counted from 0; `nil` when there is no such column.
    func name(of column: CInt) -> String? {
        sqlite3_column_name(handle, column).map { String(cString: $0) }
    }

    /// Binds an integer to the parameter with this number, counted from 1.
    func bind(_ value: Int64, at index: CInt) {
        sqlite3_bind_int64(handle, index, value)
    }

    /// Binds a double to the parameter with this number.
    func bind(_ value: Double, at index: CInt) {
        sqlite3_bind_double(handle, index, value)
    }

    /// Binds a text, or NULL, without copying it.
    ///
    /// The text is UTF-8 and must stay valid until ``reset()``.
    func bind(_ text: UnsafeRawBufferPointer?, at index: CInt) {
        guard let text else {
            sqlite3_bind_null(handle, index)
            return
        }
        guard let bytes = text.baseAddress, text.count > 0 else {
            // A null pointer would bind NULL. The literal lives as long as the process.
            let empty: StaticString = ""
            sqlite3_bind_text64(handle, index, empty.utf8Start, 0, nil, UInt8(SQLITE_UTF8))
            return
        }
        sqlite3_bind_text64(
            handle,
            index,
            bytes.assumingMemoryBound(to: CChar.self),
            UInt64(text.count),
            nil,
            UInt8(SQLITE_UTF8)
        )
    }

    /// Binds a copy of a text.
    func bind(copying text: String, at index: CInt) {
        var text = text
        text.withUTF8 { bind(copying: UnsafeRawBufferPointer($0), at: index) }
    }

    /// Binds a copy of a text that is UTF-8.
    func bind(copying text: UnsafeRawBufferPointer, at index: CInt) {
        guard let bytes = text.baseAddress, text.count > 0 else { return bind(text, at: index) }
        // The destructor −1 is SQLite's `SQLITE_TRANSIENT`.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        sqlite3_bind_text64(
            handle,
            index,
            bytes.assumingMemoryBound(to: CChar.self),
            UInt64(text.count),
            transient,
            UInt8(SQLITE_UTF8)
        )
    }

    /// Advances to the next row.
    ///
    /// - Returns: Whether there is one. After `false` the statement is reset.
    /// - Throws: The SQLite error; the statement is reset.
    func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            reset()
            return false
        }
        let message = sqlite3_errmsg(sqlite3_db_handle(handle)).map { String(cString: $0) }
        let sql = statement.sql
        reset()
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message, sql: sql)
    }

    /// Steps a statement without result rows to its end and clears its bindings.
    func run() throws {
        while try step() {}
    }

    /// Ends the execution and forgets the bound values.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// The integer in a column of the current row, counted from 0; 0 for NULL.
    func integer(at column: CInt) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// The text in a column of the current row; `nil` for NULL.
    ///
    /// Valid until the next ``step()`` or ``reset()``.
    func text(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        // `sqlite3_column_bytes` after `sqlite3_column_text` is the length of that very text.
        return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column)))
    }

    /// The length in bytes of the text in a column of the current row.
    func textLength(at column: CInt) -> Int {
        Int(sqlite3_column_bytes(handle, column))
    }
}

public import GRDBSQLite

/// Reading the current row, whose columns are counted from 0.
///
/// Values are converted as SQLite does (`sqlite3_column_int64`, …), in place. Bytes are valid until the next step or reset, or
/// until the same column is read as another type.
extension PreparedStatement {
    /// The storage classes of SQLite.
    @usableFromInline
    package enum StorageClass: Sendable {
        case null, integer, real, text, blob
    }

    /// The number of columns of a row.
    @inlinable
    package var columnCount: CInt { unsafe sqlite3_column_count(handle) }

    /// The name of a column; `nil` when there is no such column.
    package func name(of column: CInt) -> String? {
        unsafe sqlite3_column_name(handle, column).map { unsafe String(cString: $0) }
    }

    /// The storage class of a value.
    ///
    /// Ask before the value is read, which may convert it.
    @inlinable
    package func storageClass(at column: CInt) -> StorageClass {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    /// Whether a value is NULL.
    @inlinable
    package func isNull(at column: CInt) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// An integer; 0 for NULL.
    @inlinable
    package func integer(at column: CInt) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    /// A double; 0 for NULL.
    @inlinable
    package func double(at column: CInt) -> Double {
        unsafe sqlite3_column_double(handle, column)
    }

    /// The bytes of a text, NULs included; `nil` for NULL.
    @inlinable
    package func text(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let bytes = unsafe sqlite3_column_text(handle, column) else { return nil }
        // `sqlite3_column_bytes` after `sqlite3_column_text` is the length of that very text.
        return unsafe UnsafeRawBufferPointer(start: bytes, count: byteCount(at: column))
    }

    /// A text, in which what is not UTF-8 is repaired; `nil` for NULL.
    @inlinable
    package func string(at column: CInt) -> String? {
        unsafe text(at: column).map { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a blob, or of a text as UTF-8; none for NULL.
    @inlinable
    package func blob(at column: CInt) -> UnsafeRawBufferPointer {
        // `sqlite3_column_blob` lends a text in the encoding of the file, and asking for its length in UTF-8 then moves it.
        if unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT, let text = unsafe text(at: column) {
            return unsafe text
        }
        // An empty blob has no address.
        guard let bytes = unsafe sqlite3_column_blob(handle, column) else {
            return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return unsafe UnsafeRawBufferPointer(start: bytes, count: byteCount(at: column))
    }

    /// The length of a text or blob in bytes; 0 for NULL.
    @inlinable
    package func byteCount(at column: CInt) -> Int {
        unsafe Int(sqlite3_column_bytes(handle, column))
    }
}

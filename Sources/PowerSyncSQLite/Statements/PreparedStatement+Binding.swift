public import GRDBSQLite

/// Binding values to parameters, which are counted from 1.
///
/// A parameter that is not bound is NULL. The result code says that there is no such parameter, or that a text or blob is longer
/// than the connection allows, in which case the parameter is NULL; a caller that knows that neither happens need not look. An app can
/// lower that limit to a size that rows exceed, so texts of any length are for ``bind(checkedText:at:_:)``.
extension PreparedStatement {
    /// The number of parameters.
    package var parameterCount: Int { unsafe Int(sqlite3_bind_parameter_count(handle)) }

    /// Binds an integer.
    ///
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bind(_ value: Int64, at index: CInt) -> CInt {
        unsafe sqlite3_bind_int64(handle, index, value)
    }

    /// Binds a double; NaN becomes NULL.
    ///
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bind(_ value: Double, at index: CInt) -> CInt {
        unsafe sqlite3_bind_double(handle, index, value)
    }

    /// Binds a copy of a text.
    ///
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bind(_ text: String, at index: CInt) -> CInt {
        var text = text
        return text.withUTF8 { unsafe bind(text: UnsafeRawBufferPointer($0), at: index, .copied) }
    }

    /// Binds a text, or NULL.
    ///
    /// - Parameters:
    ///   - text: Bytes, usually of UTF-8; NULs are part of the text.
    ///   - index: The parameter.
    ///   - memory: The owner of the bytes.
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bind(text: UnsafeRawBufferPointer?, at index: CInt, _ memory: BoundBytes) -> CInt {
        guard let text = unsafe text else { return unsafe sqlite3_bind_null(handle, index) }
        guard let start = text.baseAddress, text.count > 0 else {
            // A null pointer would bind NULL. The literal lives as long as the process.
            let empty: StaticString = ""
            return unsafe sqlite3_bind_text64(handle, index, empty.utf8Start, 0, nil, UInt8(SQLITE_UTF8))
        }
        return unsafe sqlite3_bind_text64(
            handle,
            index,
            start.assumingMemoryBound(to: CChar.self),
            UInt64(text.count),
            memory.destructor,
            UInt8(SQLITE_UTF8)
        )
    }

    /// Binds a text, or NULL, as ``bind(text:at:_:)`` does, and never NULL for a text that is too long.
    ///
    /// - Parameters:
    ///   - text: Bytes, usually of UTF-8; NULs are part of the text.
    ///   - index: The parameter.
    ///   - memory: The owner of the bytes.
    /// - Throws: `DatabaseError`, with `SQLITE_TOOBIG` for a text that is longer than the connection allows; the execution has
    ///   ended.
    @inlinable
    package func bind(checkedText text: UnsafeRawBufferPointer?, at index: CInt, _ memory: BoundBytes) throws {
        let code = unsafe bind(text: text, at: index, memory)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Binds a copy of a text, and never NULL for one that is too long.
    ///
    /// - Throws: As the method above.
    @inlinable
    package func bind(checkedText text: String, at index: CInt) throws {
        var text = text
        try text.withUTF8 { try unsafe bind(checkedText: UnsafeRawBufferPointer($0), at: index, .copied) }
    }

    /// Binds a blob.
    ///
    /// - Parameters:
    ///   - blob: Its bytes.
    ///   - index: The parameter.
    ///   - memory: The owner of the bytes.
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bind(blob: UnsafeRawBufferPointer, at index: CInt, _ memory: BoundBytes) -> CInt {
        // A null pointer would bind NULL.
        guard let start = blob.baseAddress, blob.count > 0 else {
            return unsafe sqlite3_bind_zeroblob(handle, index, 0)
        }
        return unsafe sqlite3_bind_blob64(handle, index, start, UInt64(blob.count), memory.destructor)
    }

    /// Binds a copy of a text in UTF-8.
    ///
    /// - Returns: SQLite's result code.
    @discardableResult
    package func bind(text: [UInt8], at index: CInt) -> CInt {
        unsafe text.withUnsafeBytes { unsafe bind(text: $0, at: index, .copied) }
    }

    /// Binds a copy of a text in UTF-8, and never NULL for one that is too long.
    ///
    /// - Throws: As ``bind(checkedText:at:_:)``.
    package func bind(checkedText text: [UInt8], at index: CInt) throws {
        try unsafe text.withUnsafeBytes { try unsafe bind(checkedText: $0, at: index, .copied) }
    }

    /// Binds a copy of a blob.
    ///
    /// - Returns: SQLite's result code.
    @discardableResult
    package func bind(blob: [UInt8], at index: CInt) -> CInt {
        unsafe blob.withUnsafeBytes { unsafe bind(blob: $0, at: index, .copied) }
    }

    /// Binds NULL.
    ///
    /// - Returns: SQLite's result code.
    @inlinable @discardableResult
    package func bindNull(at index: CInt) -> CInt {
        unsafe sqlite3_bind_null(handle, index)
    }
}

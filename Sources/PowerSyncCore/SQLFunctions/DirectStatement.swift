import GRDBSQLite

extension ConnectionState {
    /// Runs one statement to its end, through the C API.
    ///
    /// For functions that also have to work on connections that GRDB knows nothing of.
    ///
    /// - Returns: The text in the first column of the first row; `nil` for NULL, and when there is no row.
    /// - Throws: ``StatementFailure``
    @discardableResult
    func firstText(_ sql: String) throws -> String? {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(of: sql) }
        defer { sqlite3_finalize(statement) }
        var text: String?
        var code = sqlite3_step(statement)
        if code == SQLITE_ROW {
            if let bytes = sqlite3_column_text(statement, 0) {
                let count = Int(sqlite3_column_bytes(statement, 0))
                text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
            }
            while code == SQLITE_ROW {
                code = sqlite3_step(statement)
            }
        }
        guard code == SQLITE_DONE else { throw failure(of: sql) }
        return text
    }

    private func failure(of sql: String) -> StatementFailure {
        StatementFailure(
            code: sqlite3_extended_errcode(handle),
            message: "statement \(sql): \(String(cString: sqlite3_errmsg(handle)))"
        )
    }
}

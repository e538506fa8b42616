import GRDBSQLite
import PowerSyncProtocol
import PowerSyncSQLite

extension PowerSyncError {
    /// What to do about errors of SQLite that come from tables being views over JSON, whose message does not say so.
    ///
    /// - Parameters:
    ///   - code: The extended result code.
    ///   - message: SQLite's message.
    ///   - sql: The statement.
    /// - Returns: `nil` when the message says enough.
    static func hint(code: Int32, message: String, sql: String) -> String? {
        func isAbout(_ text: String) -> Bool { message.contains(text) }
        let name = SQLText.changedTable(sql)
        if isAbout("cannot UPSERT a view") || isAbout("because it is a view") && hasUpsert(sql) {
            return """
                '\(name ?? "?")' is a view, for which SQLite has no ON CONFLICT: use upsert(_:into:), or INSERT OR IGNORE \
                followed by UPDATE
                """
        }
        if isAbout("cannot create AFTER trigger on view") || isAbout("cannot create BEFORE trigger on view") {
            return """
                tables of the schema are views: create the trigger on the table with their rows, "ps_data__<name>" (or \
                "ps_data_local__<name>"), which has the columns id and data (JSON), or follow the changes with watch or trackTableDiff
                """
        }
        if isAbout("views may not be indexed") {
            return "tables of the schema are views: declare the index in the schema"
        }
        if code == SQLITE_CORRUPT | (1 << 8) || isAbout("no such column: rowid") || isAbout("no such column: T.rowid") {
            return """
                if this is about a full-text table whose content is a table of the schema: that is a view and has no rowid for \
                content_rowid; keep a text of its own in the full-text table, with the id in a column UNINDEXED
                """
        }
        if code & 0xff == SQLITE_READONLY, name != nil {
            return """
                this call reads, and the statement writes: run it with execute, or with get or getAll inside of writeTransaction \
                for what RETURNING gives
                """
        }
        return nil
    }

    private static func hasUpsert(_ sql: String) -> Bool {
        let tokens = Array(SQLTokens(sql))
        return zip(tokens, tokens.dropFirst()).contains { $0.isKeyword("ON") && $1.isKeyword("CONFLICT") }
    }

    /// There are not as many values as parameters.
    static func parameterCount(_ given: Int, insteadOf expected: Int, sql: String) -> PowerSyncError {
        let parameters = expected.counted("parameter")
        let values = given.counted("value is", "values are")
        return .sqliteError(
            extendedResultCode: SQLITE_RANGE,
            message: "the statement has \(parameters), and \(values) given",
            errorString: unsafe sqlite3_errstr(SQLITE_RANGE).map { unsafe String(cString: $0) },
            sql: sql
        )
    }
}

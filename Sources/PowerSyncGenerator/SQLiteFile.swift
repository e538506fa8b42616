import GRDBSQLite
import PowerSyncSyncConfig

/// A SQLite database by SQLite's own interface: a file that is only read, or an empty one in memory.
///
/// The command plugin compiles this target once more, for the machine that builds, and GRDB would be half of that.
///
/// `@safe`: it alone closes the connection, at its end, and finalises each statement before.
@safe final class SQLiteFile {
    private let handle: OpaquePointer?

    /// Opens a database.
    ///
    /// - Parameter path: The file; `nil` for a database in memory. SQLite opens any file, and looks into it later.
    /// - Throws: ``SQLiteFailure``
    init(_ path: String?) throws(SQLiteFailure) {
        var handle: OpaquePointer?
        let flags = path == nil ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY : SQLITE_OPEN_READONLY
        let code = unsafe sqlite3_open_v2(path ?? ":memory:", &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        // What is opened is given back by `deinit`, also after an error.
        unsafe self.handle = handle
        guard code == SQLITE_OK, let handle = unsafe handle else { throw unsafe SQLiteFailure(code, handle) }
        // In double quotes there are names, and no texts.
        unsafe _disableDoubleQuotedStringLiterals(handle)
    }

    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Runs statements one after the other.
    ///
    /// - Parameters:
    ///   - sql: The statements.
    ///   - willRun: Gets the offset of each statement in the UTF-8 of `sql` before it is compiled, with the spaces and comments before it.
    ///   - row: Gets the columns of each row as text, `nil` for NULL.
    /// - Throws: ``SQLiteFailure`` for the first statement that cannot be run.
    func run(
        _ sql: String,
        willRun: (_ offset: Int) -> Void = { _ in },
        row: ([String?]) -> Void = { _ in }
    ) throws(SQLiteFailure) {
        let bytes = sql.utf8CString
        var offset = 0
        while offset < bytes.count - 1 {
            willRun(offset)
            offset += try step(bytes, from: offset, row)
        }
    }

    /// Runs the statement at an offset, and returns how many bytes it has.
    private func step(
        _ bytes: ContiguousArray<CChar>,
        from offset: Int,
        _ row: ([String?]) -> Void
    ) throws(SQLiteFailure) -> Int {
        var statement: OpaquePointer?
        let (code, length) = unsafe bytes.withUnsafeBufferPointer { bytes -> (CInt, Int) in
            guard let start = unsafe bytes.baseAddress.map({ unsafe $0 + offset }) else { return (SQLITE_OK, 0) }
            var tail: UnsafePointer<CChar>?
            let code = unsafe sqlite3_prepare_v2(handle, start, CInt(clamping: bytes.count - offset), &statement, &tail)
            return unsafe (code, tail.map { unsafe $0 - start } ?? 0)
        }
        defer { unsafe sqlite3_finalize(statement) }
        guard code == SQLITE_OK else { throw unsafe SQLiteFailure(code, handle) }
        // There is none in spaces and comments.
        guard let statement = unsafe statement else { return max(length, 1) }
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW:
                unsafe row(
                    (0..<sqlite3_column_count(statement)).map { column in
                        unsafe sqlite3_column_text(statement, column).map { unsafe String(cString: $0) }
                    }
                )
            case SQLITE_DONE: return length
            case let code: throw unsafe SQLiteFailure(code, handle)
            }
        }
    }

    /// The tables with their columns, by name.
    ///
    /// - Throws: ``SQLiteFailure``
    func declaredTables() throws(SQLiteFailure) -> [DeclaredTable] {
        var tables: [DeclaredTable] = []
        try run(
            """
            SELECT t.name, c.name, c.type, c."notnull"
            FROM sqlite_schema AS t LEFT JOIN pragma_table_xinfo(t.name) AS c ON c.hidden <> 1
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY t.name, c.cid
            """,
            row: { row in
                guard let table = row[0] else { return }
                let name = SourceTableName(schema: "main", name: table)
                if tables.last?.name != name { tables.append(DeclaredTable(name: name, columns: [])) }
                guard let column = row[1] else { return }
                tables[tables.count - 1].columns.append(
                    .init(name: column, type: row[2] ?? "", isNotNull: row[3] == "1")
                )
            }
        )
        return tables
    }
}

/// What SQLite says of something that it cannot do.
package struct SQLiteFailure: Error, CustomStringConvertible {
    /// The primary result code.
    package let code: Int32
    /// The words, in one line without the statement.
    package let description: String

    fileprivate init(_ code: CInt, _ handle: OpaquePointer?) {
        self.code = code & 0xff
        let words =
            unsafe handle.flatMap { unsafe sqlite3_errmsg($0) }.map { unsafe String(cString: $0) }
            ?? "SQLite error \(code)"
        description = String(words.prefix { !$0.isNewline }.prefix(120))
    }

    /// Whether the file is no database.
    var isNoDatabase: Bool { code == SQLITE_NOTADB }
}

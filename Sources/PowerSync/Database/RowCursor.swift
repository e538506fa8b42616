import Foundation
import GRDB
import GRDBSQLite

/// The current row of a statement, read through the SQLite C API.
///
/// The pointer is used only between ``init(_:)`` and ``end()``; afterwards the cursor has no columns, so a cursor that
/// leaks out of its mapper gives errors instead of undefined behaviour. Texts are copied once, into the `String`, with
/// embedded NULs.
final class RowCursor {
    private var statement: SQLiteStatement?
    private(set) var columnCount: Int
    private(set) lazy var columnNames: [String: Int] = makeColumnNames()

    /// Creates a cursor over the rows of a statement that is about to be stepped.
    init(_ statement: SQLiteStatement) {
        self.statement = statement
        columnCount = Int(sqlite3_column_count(statement))
    }

    /// Forgets the statement.
    func end() {
        statement = nil
        columnCount = 0
    }

    /// The statement and column, if the column exists and its value is not NULL.
    private func column(_ index: Int) -> (SQLiteStatement, CInt)? {
        guard let statement, index >= 0, index < columnCount else { return nil }
        let column = CInt(index)
        return sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : (statement, column)
    }

    private func required<Value>(_ index: Int, _ value: Value?) throws(SqlCursorError) -> Value {
        if let value { return value }
        let isInRange = index >= 0 && index < columnCount
        throw .nullValueFound(isInRange ? String(index) : "invalid index \(index)")
    }

    private func makeColumnNames() -> [String: Int] {
        guard let statement else { return [:] }
        var names: [String: Int] = [:]
        for index in 0..<columnCount {
            if let name = sqlite3_column_name(statement, CInt(index)) {
                names[String(cString: name)] = index
            }
        }
        return names
    }
}

extension RowCursor: SqlCursor {
    func getBooleanOptional(index: Int) -> Bool? {
        getInt64Optional(index: index).map { $0 != 0 }
    }

    func getDoubleOptional(index: Int) -> Double? {
        column(index).map { sqlite3_column_double($0, $1) }
    }

    func getIntOptional(index: Int) -> Int? {
        getInt64Optional(index: index).map { Int(truncatingIfNeeded: $0) }
    }

    func getInt64Optional(index: Int) -> Int64? {
        column(index).map { sqlite3_column_int64($0, $1) }
    }

    func getStringOptional(index: Int) -> String? {
        guard let (statement, column) = column(index), let text = sqlite3_column_text(statement, column) else {
            return nil
        }
        // The byte count after `sqlite3_column_text` is that of the UTF-8 text.
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    func getBoolean(index: Int) throws(SqlCursorError) -> Bool {
        try required(index, getBooleanOptional(index: index))
    }

    func getDouble(index: Int) throws(SqlCursorError) -> Double {
        try required(index, getDoubleOptional(index: index))
    }

    func getInt(index: Int) throws(SqlCursorError) -> Int {
        try required(index, getIntOptional(index: index))
    }

    func getInt64(index: Int) throws(SqlCursorError) -> Int64 {
        try required(index, getInt64Optional(index: index))
    }

    func getString(index: Int) throws(SqlCursorError) -> String {
        try required(index, getStringOptional(index: index))
    }
}

extension RowCursor: BlobCursor {
    func getDataOptional(index: Int) -> Data? {
        guard let (statement, column) = column(index) else { return nil }
        // A zero-length blob has no address.
        guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

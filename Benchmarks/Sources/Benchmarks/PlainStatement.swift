import GRDB
import GRDBSQLite

/// A prepared statement without anything around it: what a C program would do.
///
/// Floors are made of these.
final class PlainStatement {
    private let handle: OpaquePointer

    /// Prepares a statement on a connection of GRDB.
    convenience init(_ db: Database, _ sql: String) throws {
        guard let connection = db.sqliteConnection else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
        try self.init(connection, sql)
    }

    /// Prepares a statement.
    init(_ connection: OpaquePointer, _ sql: String) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, sql, -1, &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql)
        }
        self.handle = handle
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Binds an integer.
    func bind(_ value: Int64, at index: CInt) {
        sqlite3_bind_int64(handle, index, value)
    }

    /// Binds a text, copied by SQLite.
    func bind(_ text: String, at index: CInt) {
        var text = text
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                _ = sqlite3_bind_text(handle, index, characters.baseAddress, CInt(characters.count), transient)
            }
        }
    }

    /// Runs the statement to its end.
    ///
    /// - Parameter row: Called with each row.
    /// - Throws: What SQLite reports, and what `row` throws.
    func run(_ row: (PlainStatement) throws -> Void = { _ in }) throws {
        defer { sqlite3_reset(handle) }
        var code = sqlite3_step(handle)
        while code == SQLITE_ROW {
            try row(self)
            code = sqlite3_step(handle)
        }
        guard code == SQLITE_DONE else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// The integer in a column of the current row.
    func integer(at column: CInt) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// The length of the text in a column of the current row, in bytes.
    func textLength(at column: CInt) -> Int {
        sqlite3_column_text(handle, column) == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
    }
}

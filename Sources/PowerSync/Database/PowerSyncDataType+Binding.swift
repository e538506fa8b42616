import Foundation
import GRDB
import GRDBSQLite

extension PowerSyncDataType? {
    /// Binds the value to the parameter with this number, counted from 1; `nil` binds NULL.
    ///
    /// Texts and blobs are copied.
    ///
    /// - Returns: SQLite's result code.
    func bind(to statement: SQLiteStatement, at index: CInt) -> CInt {
        // SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch self {
        case nil: return sqlite3_bind_null(statement, index)
        case .bool(let value): return sqlite3_bind_int64(statement, index, value ? 1 : 0)
        case .int64(let value): return sqlite3_bind_int64(statement, index, value)
        case .int32(let value): return sqlite3_bind_int64(statement, index, Int64(value))
        case .double(let value): return sqlite3_bind_double(statement, index, value)
        case .string(var value):
            return value.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    guard let start = characters.baseAddress else {
                        return sqlite3_bind_text(statement, index, "", 0, transient)
                    }
                    return sqlite3_bind_text64(
                        statement,
                        index,
                        start,
                        UInt64(characters.count),
                        transient,
                        UInt8(SQLITE_UTF8)
                    )
                }
            }
        case .data(let value):
            return value.withUnsafeBytes { bytes in
                // A null address would bind NULL.
                guard let start = bytes.baseAddress, !bytes.isEmpty else {
                    return sqlite3_bind_zeroblob(statement, index, 0)
                }
                return sqlite3_bind_blob64(statement, index, start, UInt64(bytes.count), transient)
            }
        }
    }
}

import Foundation
import PowerSyncSQLite

extension PowerSyncDataType? {
    /// Binds the value to the parameter with this number, counted from 1; `nil` binds NULL.
    ///
    /// Texts and blobs are copied.
    ///
    /// - Returns: SQLite's result code.
    func bind(to statement: PreparedStatement, at index: CInt) -> CInt {
        switch self {
        case nil: statement.bindNull(at: index)
        case .bool(let value): statement.bind(Int64(value ? 1 : 0), at: index)
        case .int64(let value): statement.bind(value, at: index)
        case .int32(let value): statement.bind(Int64(value), at: index)
        case .double(let value): statement.bind(value, at: index)
        case .string(let value): statement.bind(value, at: index)
        case .data(let value): unsafe value.withUnsafeBytes { unsafe statement.bind(blob: $0, at: index, .copied) }
        }
    }
}

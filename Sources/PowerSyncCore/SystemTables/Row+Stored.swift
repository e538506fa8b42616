import GRDB

/// Reading internal tables, into which any program may have written anything.
///
/// GRDB takes a value of another type for a mistake of the programmer: depending on the type, it traps or reads 0. Here it is
/// an error that names table and column. The value itself is not part of it, since it may be data of the user.
extension Row {
    /// The value of a column.
    ///
    /// - Parameters:
    ///   - index: The position among the columns of the query.
    ///   - column: Table and column, for the error: `"ps_buckets.name"`.
    /// - Returns: The value; `nil` for NULL when an optional is asked for.
    /// - Throws: ``LocalDatabaseError`` with code `corruptLocalData` when the value is NULL or has another type, or is an
    ///   integer out of range.
    func stored<Value: DatabaseValueConvertible>(_ index: Int, _ column: StaticString) throws -> Value {
        let value: DatabaseValue = self[index]
        guard let decoded = Value.fromDatabaseValue(value) else {
            throw LocalDatabaseError(
                .corruptLocalData,
                "invalid local data: \(column) cannot hold \(value.storage.kind)"
            )
        }
        return decoded
    }
}

extension DatabaseValue.Storage {
    /// The value's type in words.
    fileprivate var kind: String {
        switch self {
        case .null: "NULL"
        case .int64(let integer): Int32(exactly: integer) == nil ? "so large an integer" : "an integer"
        case .double: "a real number"
        case .string: "text"
        case .blob: "a blob"
        }
    }
}

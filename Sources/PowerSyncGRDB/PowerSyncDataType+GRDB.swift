public import GRDB
public import PowerSync

extension PowerSyncDataType: DatabaseValueConvertible {
    /// The value that GRDB binds.
    public var databaseValue: DatabaseValue {
        switch self {
        case .bool(let value): value.databaseValue
        case .string(let value): value.databaseValue
        case .int64(let value): value.databaseValue
        case .int32(let value): value.databaseValue
        case .double(let value): value.databaseValue
        case .data(let value): value.databaseValue
        }
    }

    /// Always `nil`: the type is for binding.
    public static func fromDatabaseValue(_ dbValue: DatabaseValue) -> PowerSyncDataType? {
        nil
    }
}

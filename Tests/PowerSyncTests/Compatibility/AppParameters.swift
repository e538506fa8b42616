public import Foundation
public import PowerSync

// Apps declare these themselves, so the SDK must not.

extension UUID: PowerSyncDataTypeConvertible {
    /// Lower case, unlike the SDK's own text of a UUID.
    public var psDataType: PowerSyncDataType? { .string(uuidString.lowercased()) }
}

extension Date: PowerSyncDataTypeConvertible {
    /// ISO 8601 in UTC.
    public var psDataType: PowerSyncDataType? { .string(Date.databaseFormat.format(self)) }

    private static let databaseFormat = Date.ISO8601FormatStyle()

    static func fromDatabase(_ text: String) -> Date? {
        try? databaseFormat.parse(text)
    }
}

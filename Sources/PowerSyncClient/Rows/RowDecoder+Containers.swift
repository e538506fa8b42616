import Foundation
import PowerSyncProtocol

// A row as a decoder: keyed by column names. A super class reads the same row. Of a row with one column, a single value and an
// array are what is in it.
extension RowDecoder {
    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer(row: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ColumnDecoder(row: self, index: try onlyColumn([Any].self)).unkeyedContainer()
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        ColumnDecoder(row: self, index: try onlyColumn(Any.self))
    }
}

/// The columns of a row by name.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let row: RowDecoder

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { row.columnKeys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool {
        // A caller that asks for several columns at once gets an error with the value.
        do { return try row.index(of: key) != nil } catch { return true }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        row.isNull(at: try row.requiredIndex(of: key, Any?.self))
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try row.decode(type, at: try row.requiredIndex(of: key, type))
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let index = try row.index(of: key), !row.isNull(at: index) else { return nil }
        return try row.decode(type, at: index)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        guard let index = try row.index(of: key), !row.isNull(at: index) else { return nil }
        return try row.decode(type, at: index)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        guard let index = try row.index(of: key), !row.isNull(at: index) else { return nil }
        return try row.decode(type, at: index)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        guard let index = try row.index(of: key), !row.isNull(at: index) else { return nil }
        return try row.decode(type, at: index)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        guard let index = try row.index(of: key), !row.isNull(at: index) else { return nil }
        return try row.decode(type, at: index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try column(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try column(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { row }

    func superDecoder(forKey key: Key) throws -> any Decoder { try column(key) }

    private func column(_ key: Key) throws -> ColumnDecoder {
        ColumnDecoder(row: row, index: try row.requiredIndex(of: key, Any.self))
    }
}

/// One column: a single value, or JSON.
struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
    let row: RowDecoder
    let index: Int

    var codingPath: [any CodingKey] { [PathKey(stringValue: row.name(at: index))] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Whether values of a type are read here, and not by the type.
    static func isOneValue(_ type: Any.Type) -> Bool {
        type == Date.self || type == UUID.self || type == Data.self || type == Decimal.self || type == URL.self
            || type == String.self || type == JsonValue.self || type == Bool.self || type == Double.self
            || type == Float.self || type is any FixedWidthInteger.Type
    }

    /// The value of a column as such a type.
    func oneValue<T: Decodable>(_ type: T.Type) throws -> T {
        if type == JsonValue.self, let value = try jsonValue() as? T { return value }
        let value = row.value(at: index)
        return try value.decoded(as: type, row.format, at: { codingPath })
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try JSONDecoderNode(try json([String: Any].self), codingPath, row.format).container(keyedBy: type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try JSONDecoderNode(try json([Any].self), codingPath, row.format).unkeyedContainer()
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { row.isNull(at: index) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try row.decode(type, at: index)
    }

    /// What a `JsonValue` is: the value of a column of the format's table, or the JSON in the column.
    private func jsonValue() throws -> JsonValue {
        guard let kinds = row.format.kinds else { return JsonValue(try json([JsonValue].self)) }
        let value = JsonValue(row.value(at: index))
        guard let kind = kinds[row.name(at: index)] else { return value }
        return ColumnKinds.value(of: value, kind) ?? value
    }

    /// The JSON in the column.
    private func json(_ type: Any.Type) throws -> StoredValue {
        let value = row.value(at: index)
        switch value {
        case .null where type == [JsonValue].self: return .null
        case .integer, .real: return value
        case .text(let text):
            do {
                return try StoredValue(json: text)
            } catch {
                let message = "\(value.short) is no JSON (\(error.description))"
                throw DecodingError.of(value.mismatch(.malformedValue, type, message), type, at: codingPath)
            }
        default:
            throw DecodingError.of(
                value.mismatch(.typeMismatch, type, "\(value.short) is no JSON"),
                type,
                at: codingPath
            )
        }
    }
}

extension StoredValue {
    /// The value as a type that is known here.
    ///
    /// - Throws: `DecodingError`, also for a type that is not known.
    func decoded<T>(as type: T.Type, _ format: RowFormat, at path: () -> [any CodingKey]) throws -> T {
        do {
            if let value = try known(as: type, format) { return value }
        } catch let mismatch as Mismatch {
            throw DecodingError.of(mismatch, type, at: path())
        }
        throw DecodingError.of(mismatch(.unsupported, type), type, at: path())
    }
}

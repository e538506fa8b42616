import Foundation
import PowerSyncCore
import PowerSyncProtocol

/// Takes a value apart: a row into columns, or what is in a JSON column into JSON.
///
/// A value that encodes nothing is an empty object. What is encoded twice counts as it was the last time.
final class ValueEncoder: Encoder, SingleValueEncodingContainer {
    /// A part: a value, or a container that may still be added to.
    private enum Part {
        case value(EncodedValue)
        case encoder(ValueEncoder)
    }

    private enum Content {
        case value(EncodedValue)
        case array([Part])
        case object(names: [String], parts: [String: Part])
    }

    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private let format: RowFormat
    /// Whether this is a row, whose names are columns.
    private let isRow: Bool
    /// The only column that is wanted, if not all are.
    private let wanted: String?
    private var content = Content.object(names: [], parts: [:])
    /// The types of a row's columns, where they are known.
    private var types: [String: Any.Type] = [:]
    /// The dates in a row's columns.
    private var dates: [String: Date] = [:]

    /// Creates the encoder of a row.
    ///
    /// - Parameters:
    ///   - format: How names and dates are written.
    ///   - wanted: The only column that is wanted, if not all are.
    init(_ format: RowFormat, wanted: String?) {
        self.format = format
        self.wanted = wanted
        codingPath = []
        isRow = true
    }

    private init(in parent: ValueEncoder, _ key: any CodingKey) {
        format = parent.format
        wanted = nil
        codingPath = parent.codingPath + [key]
        isRow = false
    }

    /// The columns of a row, in the order of their first appearance; `nil` of a value that is no row.
    ///
    /// - Throws: `EncodingError`.
    func columns() throws -> [RowValues.Column]? {
        guard case .object(let names, let parts) = content else { return nil }
        return try names.map { name in
            let value = try parts[name].map(encoded)
            return RowValues.Column(
                name: name,
                value: value?.column,
                type: types[name],
                isJSON: value?.isJSON == true,
                date: dates[name],
                dates: format.dates
            )
        }
    }

    /// The value of a column that holds this value.
    ///
    /// - Throws: `EncodingError`, or what the value throws.
    static func column(
        of value: some Encodable,
        named name: String = "",
        _ format: RowFormat
    ) throws -> PowerSyncDataType? {
        let encoder = ValueEncoder(format, wanted: nil)
        return try encoder.encoded(try encoder.part(value, PathKey(stringValue: name))).column
    }

    private func encoded() throws -> EncodedValue {
        switch content {
        case .value(let value): value
        case .array(let parts): .json(.array(try parts.enumerated().map { try inside($1, PathKey(intValue: $0)) }))
        case .object(let names, let parts):
            .json(
                .object(
                    JSONObject(
                        members: try names.compactMap { name in
                            try parts[name].map { part in
                                JSONObject.Member(name: name, value: try inside(part, PathKey(stringValue: name)))
                            }
                        }
                    )
                )
            )
        }
    }

    private func encoded(_ part: Part) throws -> EncodedValue {
        switch part {
        case .value(let value): value
        case .encoder(let encoder): try encoder.encoded()
        }
    }

    private func inside(_ part: Part, _ key: any CodingKey) throws -> ExactJSON {
        do {
            return try encoded(part).inside()
        } catch let mismatch as StoredValue.Mismatch {
            throw ValueEncoder.error(mismatch, mismatch.value, at: codingPath + [key])
        }
    }

    private static func error(
        _ mismatch: StoredValue.Mismatch,
        _ value: Any,
        at path: [any CodingKey]
    ) -> EncodingError {
        .invalidValue(
            value,
            EncodingError.Context(codingPath: path, debugDescription: mismatch.message, underlyingError: mismatch)
        )
    }

    // MARK: - Parts

    /// The name of a member, and as a step of a path.
    private func key(_ key: some CodingKey) -> PathKey {
        PathKey(stringValue: isRow ? format.keys.column(of: key.stringValue) : key.stringValue)
    }

    private func part<T: Encodable>(_ value: T, _ key: any CodingKey) throws -> Part {
        if isRow, let kinds = format.kinds, let value = value as? JsonValue {
            // In a column of JSON it is JSON, and in any other one what it is.
            let json = ExactJSON(value)
            return .value(kinds[key.stringValue] == .json ? .jsonText(json) : .json(json))
        }
        do {
            if let known = try EncodedValue(known: value, format) { return .value(known) }
        } catch let mismatch as StoredValue.Mismatch {
            throw ValueEncoder.error(mismatch, value, at: codingPath + [key])
        }
        let encoder = ValueEncoder(in: self, key)
        try value.encode(to: encoder)
        return .encoder(encoder)
    }

    private func set(_ name: String, _ part: Part, type: Any.Type? = nil, date: Date? = nil) {
        if isRow { (types[name], dates[name]) = (type, date) }
        var (names, parts) = members
        // The array and the dictionary are not shared, so that they are changed in place.
        content = .array([])
        if parts.updateValue(part, forKey: name) == nil { names.append(name) }
        content = .object(names: names, parts: parts)
    }

    private var members: (names: [String], parts: [String: Part]) {
        if case .object(let names, let parts) = content { (names, parts) } else { ([], [:]) }
    }

    fileprivate func encode(_ value: some Encodable, forKey codingKey: some CodingKey) throws {
        let key = key(codingKey)
        guard wanted == nil || wanted == key.stringValue else { return }
        let type = type(of: value)
        // The app's own conversion of a date stays.
        let isDate = type == Date.self && !(type is any PowerSyncDataTypeConvertible.Type)
        set(key.stringValue, try part(value, key), type: type, date: isDate ? value as? Date : nil)
    }

    fileprivate func encodeNil(forKey codingKey: some CodingKey) {
        let name = key(codingKey).stringValue
        guard wanted == nil || wanted == name else { return }
        set(name, .value(.json(.null)))
    }

    fileprivate func encoder(forKey codingKey: some CodingKey) -> ValueEncoder {
        let key = key(codingKey)
        let encoder = ValueEncoder(in: self, key)
        if wanted == nil || wanted == key.stringValue { set(key.stringValue, .encoder(encoder)) }
        return encoder
    }

    fileprivate func superEncoder() -> ValueEncoder {
        isRow ? self : encoder(forKey: PathKey(stringValue: "super"))
    }

    fileprivate var count: Int {
        if case .array(let parts) = content { parts.count } else { 0 }
    }

    fileprivate func append(_ value: some Encodable) throws {
        append(try part(value, PathKey(intValue: count)))
    }

    fileprivate func appendNil() {
        append(.value(.json(.null)))
    }

    fileprivate func appendEncoder() -> ValueEncoder {
        let encoder = ValueEncoder(in: self, PathKey(intValue: count))
        append(.encoder(encoder))
        return encoder
    }

    private func append(_ part: Part) {
        guard case .array(var parts) = content else { return content = .array([part]) }
        content = .array([])
        parts.append(part)
        content = .array(parts)
    }

    func encode<T: Encodable>(_ value: T) throws {
        do {
            if let known = try EncodedValue(known: value, format) { return content = .value(known) }
        } catch let mismatch as StoredValue.Mismatch {
            throw ValueEncoder.error(mismatch, value, at: codingPath)
        }
        try value.encode(to: self)
    }

    func encodeNil() {
        content = .value(.json(.null))
    }

    // MARK: - Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object = content {} else { content = .object(names: [], parts: [:]) }
        return KeyedEncodingContainer(ObjectEncodingContainer(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = content {} else { content = .array([]) }
        return ArrayEncodingContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }
}

private struct ObjectEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) { encoder.encodeNil(forKey: key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder.encode(value, forKey: key) }

    // An optional that is nil is NULL, and not a column that stays as it was.

    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }

    private func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
        if let value { try encoder.encode(value, forKey: key) } else { encoder.encodeNil(forKey: key) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.encoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.encoder(forKey: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.superEncoder() }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.encoder(forKey: key) }
}

private struct ArrayEncodingContainer: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() { encoder.appendNil() }
    func encode<T: Encodable>(_ value: T) throws { try encoder.append(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.appendEncoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.appendEncoder().unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.appendEncoder() }
}

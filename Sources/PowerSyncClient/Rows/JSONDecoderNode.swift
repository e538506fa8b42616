import PowerSyncSQLite

/// A value inside of a JSON column as a decoder.
struct JSONDecoderNode: Decoder, SingleValueDecodingContainer {
    private let value: StoredValue
    let codingPath: [any CodingKey]
    private let format: RowFormat

    init(_ value: StoredValue, _ codingPath: [any CodingKey], _ format: RowFormat) {
        self.value = value
        self.codingPath = codingPath
        self.format = format
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: Any].self, "no JSON object") }
        return KeyedDecodingContainer(JSONObjectContainer(members, node: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([Any].self, "no JSON array") }
        return JSONArrayContainer(values: values, node: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool {
        if case .null = value { true } else { false }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if type == JsonValue.self, let value = JsonValue(value) as? T { return value }
        guard ColumnDecoder.isOneValue(type) else { return try T(from: self) }
        return try value.decoded(as: type, format, at: { codingPath })
    }

    /// The decoder of a value inside of this one.
    fileprivate func inside(_ value: StoredValue, _ key: any CodingKey) -> JSONDecoderNode {
        JSONDecoderNode(value, codingPath + [key], format)
    }

    fileprivate func missing(_ key: any CodingKey, _ what: String) -> DecodingError {
        .keyNotFound(key, DecodingError.Context(codingPath: codingPath + [key], debugDescription: what))
    }

    private func mismatch(_ type: Any.Type, _ what: String) -> DecodingError {
        .of(value.mismatch(.typeMismatch, type, "\(value.short) is \(what)"), type, at: codingPath)
    }
}

/// The members of an object by the bytes of their names: of several with the same name, the last one.
///
/// Small objects are searched. Large ones have an index, because looking through all members for each member takes seconds.
private struct JSONObjectContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: [(name: String, value: StoredValue)]
    private let places: [ExactText: Int]?
    private let node: JSONDecoderNode

    init(_ members: [(name: String, value: StoredValue)], node: JSONDecoderNode) {
        self.members = members
        self.node = node
        places =
            members.count > 16
            ? Dictionary(members.enumerated().map { (ExactText($1.name), $0) }, uniquingKeysWith: { $1 }) : nil
    }

    var codingPath: [any CodingKey] { node.codingPath }
    /// Each name once.
    var allKeys: [Key] {
        members.enumerated().filter { place(of: $1.name) == $0 }.compactMap { Key(stringValue: $1.name) }
    }

    private func place(of name: String) -> Int? {
        guard let places else { return members.lastIndex { ExactText($0.name) == ExactText(name) } }
        return places[ExactText(name)]
    }

    private func value(_ name: String) -> StoredValue? {
        place(of: name).map { members[$0].value }
    }

    func contains(_ key: Key) -> Bool { place(of: key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try member(key).decode(type) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = PathKey(stringValue: "super")
        return node.inside(value("super") ?? .null, key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        node.inside(value(key.stringValue) ?? .null, key)
    }

    private func member(_ key: Key) throws -> JSONDecoderNode {
        guard let value = value(key.stringValue) else {
            throw node.missing(key, "the JSON object has no such member")
        }
        return node.inside(value, key)
    }
}

struct JSONArrayContainer: UnkeyedDecodingContainer {
    let values: [StoredValue]
    let node: JSONDecoderNode
    private(set) var currentIndex = 0

    init(values: [StoredValue], node: JSONDecoderNode) {
        self.values = values
        self.node = node
    }

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    mutating func decodeNil() throws -> Bool {
        guard try element().decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try element().decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try element().container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try element().unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try element()
        currentIndex += 1
        return decoder
    }

    /// The next element, which is passed when it was read: an error leaves it for another attempt.
    private func element() throws -> JSONDecoderNode {
        let key = PathKey(intValue: currentIndex)
        guard !isAtEnd else { throw node.missing(key, "the JSON array has only \(values.count) elements") }
        return node.inside(values[currentIndex], key)
    }
}

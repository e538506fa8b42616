import PowerSyncProtocol

/// A JSON text as the language sees it (RFC 8259).
///
/// Unlike ``ExactJSON``, numbers keep their text: integers keep their digits whatever their size, and numbers beyond the
/// range of doubles are infinite. Half a surrogate pair is U+FFFD. Of members with the same name the last value counts,
/// at the place of the first.
enum JSONNode: Sendable {
    case null
    case bool(Bool)
    /// Digits with an optional sign.
    case integer(String)
    /// A number with fraction or exponent.
    case real(Double)
    case string(String)
    case array([JSONNode])
    case object([Member])

    /// One member of an object.
    struct Member: Sendable {
        var name: String
        var value: JSONNode
    }

    /// Converts a value of a request.
    init(_ value: ExactJSON) {
        switch value {
        case .null: self = .null
        case .bool(let isTrue): self = .bool(isTrue)
        case .integer(let integer): self = .integer(String(integer))
        case .double(let number): self = number.isFinite ? .real(number) : .null
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map(JSONNode.init))
        case .object(let object):
            self = .object(Self.unique(object.members.map { Member(name: $0.name, value: JSONNode($0.value)) }))
        }
    }

    /// How many names are compared one with another.
    private static let scannedNames = 16

    /// Each name once: the last value at the first place.
    static func unique(_ members: [Member]) -> [Member] {
        if members.count <= scannedNames, !hasRepeatedNames(members) { return members }
        var positions: [SQLValue: Int] = [:]
        var unique: [Member] = []
        unique.reserveCapacity(members.count)
        for member in members {
            if let position = positions[.text(member.name)] {
                unique[position].value = member.value
            } else {
                positions[.text(member.name)] = unique.count
                unique.append(member)
            }
        }
        return unique
    }

    /// - Complexity: O(n²) in the number of members.
    private static func hasRepeatedNames(_ members: [Member]) -> Bool {
        members.indices.contains { last in
            members[..<last].contains { $0.name.hasSameBytes(as: members[last].name) }
        }
    }
}

extension JSONNode {
    /// The member of an object.
    subscript(name: String) -> JSONNode? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.hasSameBytes(as: name) }?.value
    }

    /// The value as `->>` gives it: booleans are 1 and 0, arrays and objects JSON text.
    var value: SQLValue {
        switch self {
        case .null: .null
        case .bool(let isTrue): .boolean(isTrue)
        case .integer(let digits): Int64(digits).map(SQLValue.integer) ?? .real(Double(digits) ?? 0)
        case .real(let number): .real(number)
        case .string(let text): .text(text)
        case .array, .object: .text(text)
        }
    }

    /// JSON text without white space.
    var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let isTrue): bytes.append(contentsOf: (isTrue ? "true" : "false").utf8)
        case .integer(let digits): bytes.append(contentsOf: digits.utf8)
        case .real(let number): bytes.append(contentsOf: RealText.json(number).utf8)
        case .string(let text): JSONText.appendString(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (position, element) in elements.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (position, member) in members.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.appendString(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }
}

/// A JSON value with exact numbers: integers that fit 64 bits stay integers, everything else is a double.
///
/// Object members keep their order. Use ``JSONObject/canonicalText`` where texts are compared.
/// Strings are compared by their bytes: composed and decomposed characters are different texts here, unlike in `String`.
package enum ExactJSON: Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number without fraction and exponent that fits `Int64`.
    case integer(Int64)
    /// Any other number.
    case double(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([ExactJSON])
    /// An object.
    case object(JSONObject)
}

/// The members of a JSON object, in order.
package struct JSONObject: Sendable, Hashable {
    /// One member.
    package struct Member: Sendable {
        /// The name.
        package var name: String
        /// The value.
        package var value: ExactJSON

        /// Creates a member.
        package init(name: String, value: ExactJSON) {
            self.name = name
            self.value = value
        }
    }

    /// The members in order of appearance.
    ///
    /// When a name appears twice, the last one counts.
    package var members: [Member]

    /// Creates an object.
    package init(members: [Member] = []) {
        self.members = members
    }

    /// The value of a member, found by the bytes of its name; `nil` when it is missing or has been removed.
    ///
    /// Setting an existing member keeps its place.
    ///
    /// - Complexity: O(number of members).
    package subscript(name: String) -> ExactJSON? {
        get {
            members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
        }
        set {
            let index = members.lastIndex { $0.name.utf8.elementsEqual(name.utf8) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

extension ExactJSON {
    /// Whether a number in the value is none that JSON can write: infinite, or not a number.
    package var hasNonFiniteNumber: Bool {
        switch self {
        case .double(let number): !number.isFinite
        case .array(let elements): elements.contains(where: \.hasNonFiniteNumber)
        case .object(let object): object.hasNonFiniteNumber
        case .null, .bool, .integer, .string: false
        }
    }
}

extension JSONObject {
    /// Whether a number in the object is none that JSON can write: infinite, or not a number.
    package var hasNonFiniteNumber: Bool { members.contains { $0.value.hasNonFiniteNumber } }
}

extension JSONObject.Member: Hashable {
    package static func == (lhs: JSONObject.Member, rhs: JSONObject.Member) -> Bool {
        lhs.name.utf8.elementsEqual(rhs.name.utf8) && lhs.value == rhs.value
    }

    package func hash(into hasher: inout Hasher) {
        name.hashUTF8(into: &hasher)
        hasher.combine(value)
    }
}

extension ExactJSON: Hashable {
    package static func == (lhs: ExactJSON, rhs: ExactJSON) -> Bool {
        switch (lhs, rhs) {
        case (.null, .null): true
        case (.bool(let lhs), .bool(let rhs)): lhs == rhs
        case (.integer(let lhs), .integer(let rhs)): lhs == rhs
        case (.double(let lhs), .double(let rhs)): lhs == rhs
        case (.string(let lhs), .string(let rhs)): lhs.utf8.elementsEqual(rhs.utf8)
        case (.array(let lhs), .array(let rhs)): lhs == rhs
        case (.object(let lhs), .object(let rhs)): lhs == rhs
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): value.hashUTF8(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, ExactJSON)...) {
        self.init(members: elements.map { Member(name: $0.0, value: $0.1) })
    }
}

extension ExactJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(arrayLiteral elements: ExactJSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, ExactJSON)...) {
        self = .object(JSONObject(members: elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
    package init(nilLiteral: ()) { self = .null }
}

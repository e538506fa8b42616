/// A JSON value as apps see it: client parameters, stream parameters, row data of the upload queue.
///
/// ```swift
/// let parameters: JsonParam = ["project": .string("p1"), "archived": .bool(false)]
/// ```
public enum JsonValue: Sendable, Equatable, Hashable {
    /// A string.
    case string(String)
    /// A number without a fraction.
    case int(Int)
    /// Any other number.
    case double(Double)
    /// `true` or `false`. Never `1` or `0`.
    case bool(Bool)
    /// `null`
    case null
    /// An array.
    case array([JsonValue])
    /// An object.
    case object([String: JsonValue])
}

extension JsonValue {
    /// Whether two values are the same, texts byte for byte: unlike in Swift's `String`, canonically equivalent texts are two.
    ///
    /// The names of members are those of a `Dictionary`, which knows them by `String`.
    public static func == (lhs: JsonValue, rhs: JsonValue) -> Bool {
        switch (lhs, rhs) {
        case (.string(let lhs), .string(let rhs)): lhs.utf8.elementsEqual(rhs.utf8)
        case (.int(let lhs), .int(let rhs)): lhs == rhs
        case (.double(let lhs), .double(let rhs)): lhs == rhs
        case (.bool(let lhs), .bool(let rhs)): lhs == rhs
        case (.null, .null): true
        case (.array(let lhs), .array(let rhs)): lhs == rhs
        case (.object(let lhs), .object(let rhs)): lhs == rhs
        case (.string, _), (.int, _), (.double, _), (.bool, _), (.null, _), (.array, _), (.object, _): false
        }
    }
}

/// The members of a JSON object.
public typealias JsonParam = [String: JsonValue]

extension JsonValue: Codable {
    /// Decodes null, Bool, Int, Double, String, array and object, in this order.
    ///
    /// - Throws: `DecodingError.typeMismatch` when the decoder holds none of them.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JsonValue].self) {
            self = .array(value)
        } else if let value = try? container.decode([String: JsonValue].self) {
            self = .object(value)
        } else {
            throw DecodingError.typeMismatch(
                JsonValue.self,
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "Expected null, a boolean, a number, a string, an array or an object."
                )
            )
        }
    }

    /// Encodes the value as plain JSON, without a wrapper for its kind.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .bool(let value): try container.encode(value)
        case .null: try container.encodeNil()
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}

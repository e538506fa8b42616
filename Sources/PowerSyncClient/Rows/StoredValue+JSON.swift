import Foundation
import PowerSyncProtocol

extension StoredValue {
    /// Reads JSON text.
    ///
    /// Unlike in ``ExactJSON``, numbers keep their text, and an object has all its members, also those whose name comes again.
    ///
    /// - Throws: ``JSONError`` with the offset of what is wrong.
    init(json text: String) throws(JSONError) {
        self = try ByteView.of(text) { bytes throws(JSONError) -> StoredValue in
            var scanner = JSONScanner(bytes)
            let value = try scanner.readStoredValue()
            try scanner.finish()
            return value
        }
    }
}

extension JSONScanner {
    fileprivate mutating func readStoredValue() throws(JSONError) -> StoredValue {
        switch try nextKind() {
        case .object:
            var members: [(name: String, value: StoredValue)] = []
            try beginObject()
            while let name = try nextMember() {
                members.append((name.string, try readStoredValue()))
            }
            return .object(members)
        case .array:
            var elements: [StoredValue] = []
            try beginArray()
            while try nextElement() { elements.append(try readStoredValue()) }
            return .array(elements)
        case .string: return .text(try readString().string)
        case .number:
            let token = try readNumber()
            if let integer = token.integer { return .integer(integer) }
            try token.checkRange()
            return .number(token.bytes.string)
        case .bool: return .bool(try readBool())
        case .null:
            try readNull()
            return .null
        }
    }
}

extension JsonValue {
    /// Creates a value from JSON in a column.
    ///
    /// A number becomes the nearest double if it is no integer; of members with the same name the last one counts.
    init(_ value: StoredValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = Int(exactly: value).map(JsonValue.int) ?? .double(Double(value))
        case .real(let value): self = .double(value)
        case .number(let number): self = .double(StoredValue.double(of: number))
        case .text(let value): self = .string(value)
        // JSON has none; they are written like this.
        case .blob(let data): self = .string(data.base64EncodedString())
        case .array(let values): self = .array(values.map { JsonValue($0) })
        case .object(let members):
            self = .object(JsonParam(members.map { ($0.name, JsonValue($0.value)) }, uniquingKeysWith: { $1 }))
        }
    }
}

extension JSONNode {
    /// How deep arrays and objects may be nested.
    static let maximumDepth = 200

    /// Reads a JSON text.
    ///
    /// - Returns: `nil` when the text is no JSON, or nested deeper than ``maximumDepth``.
    init?(parsing text: String) {
        var text = text
        let node = text.withUTF8 { bytes -> JSONNode? in
            var reader = unsafe JSONNodeReader(bytes: bytes)
            return reader.document()
        }
        guard let node else { return nil }
        self = node
    }
}

/// Reads JSON by recursive descent; `nil` stands for a syntax error.
///
/// `@safe`: it reads below the number of bytes, and lives inside the closure that lends them.
@safe private struct JSONNodeReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    var depth = 0

    mutating func document() -> JSONNode? {
        guard let node = value() else { return nil }
        skipSpace()
        return unsafe position == bytes.count ? node : nil
    }

    private var next: UInt8? { unsafe position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() -> JSONNode? {
        skipSpace()
        guard let byte = next else { return nil }
        switch byte {
        case UInt8(ascii: "{"): return nested { reader in reader.object() }
        case UInt8(ascii: "["): return nested { reader in reader.array() }
        case UInt8(ascii: "\""): return string().map(JSONNode.string)
        case UInt8(ascii: "t"): return literal("true", .bool(true))
        case UInt8(ascii: "f"): return literal("false", .bool(false))
        case UInt8(ascii: "n"): return literal("null", .null)
        default: return number()
        }
    }

    private mutating func nested(_ body: (inout JSONNodeReader) -> JSONNode?) -> JSONNode? {
        guard depth < JSONNode.maximumDepth else { return nil }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return body(&self)
    }

    private mutating func object() -> JSONNode? {
        var members: [JSONNode.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = string(), take(UInt8(ascii: ":")), let value = value() else {
                return nil
            }
            members.append(JSONNode.Member(name: name, value: value))
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(JSONNode.unique(members)) : nil
    }

    private mutating func array() -> JSONNode? {
        var elements: [JSONNode] = []
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            guard let element = value() else { return nil }
            elements.append(element)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    private mutating func literal(_ text: StaticString, _ node: JSONNode) -> JSONNode? {
        let end = position + text.utf8CodeUnitCount
        guard unsafe end <= bytes.count else { return nil }
        for offset in 0..<text.utf8CodeUnitCount where unsafe bytes[position + offset] != text.utf8Start[offset] {
            return nil
        }
        position = end
        return node
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = next, byte &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > start
    }

    private mutating func number() -> JSONNode? {
        let start = position
        var isInteger = true
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") { position += 1 } else if !digits() { return nil }
        if next == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard digits() else { return nil }
        }
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if next == UInt8(ascii: "-") || next == UInt8(ascii: "+") { position += 1 }
            guard digits() else { return nil }
        }
        let text = unsafe String(decoding: bytes[start..<position], as: UTF8.self)
        return isInteger ? .integer(text) : Double(text).map(JSONNode.real)
    }

    private mutating func string() -> String? {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if next == UInt8(ascii: "\"") {
            defer { position += 1 }
            return unsafe String(decoding: bytes[start..<position], as: UTF8.self)
        }
        var text = unsafe Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard appendEscape(to: &text) else { return nil }
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func appendEscape(to text: inout [UInt8]) -> Bool {
        guard let letter = next else { return false }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            guard let unit = codeUnit() else { return false }
            text.append(contentsOf: String(scalar(from: unit)).utf8)
        default: return false
        }
        return true
    }

    /// The character of a code unit, together with the escape that follows if they are a surrogate pair.
    private mutating func scalar(from unit: UInt32) -> Unicode.Scalar {
        if (0xd800..<0xdc00).contains(unit), unsafe position + 1 < bytes.count,
            unsafe bytes[position] == UInt8(ascii: "\\"),
            unsafe bytes[position + 1] == UInt8(ascii: "u")
        {
            let start = position
            position += 2
            if let low = codeUnit(), (0xdc00..<0xe000).contains(low) {
                return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00)) ?? "\u{fffd}"
            }
            position = start
        }
        return Unicode.Scalar(unit) ?? "\u{fffd}"
    }

    private mutating func codeUnit() -> UInt32? {
        guard unsafe position + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = unsafe UInt32(String(UnicodeScalar(bytes[position + offset])), radix: 16) else {
                return nil
            }
            value = value << 4 | digit
        }
        position += 4
        return value
    }
}

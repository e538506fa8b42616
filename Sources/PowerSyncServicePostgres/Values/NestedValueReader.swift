import PowerSyncProtocol

/// Takes the texts of arrays, composites and ranges apart.
///
/// Array elements are quoted with `"` and escaped with `\`; an unquoted `NULL` is null. Columns of composites and bounds of
/// ranges are quoted with `"`, inside of which `""` and `\\` stand for one; nothing at all is null. `""` is the empty text in
/// both.
struct NestedValueReader {
    /// The text of a part.
    enum Part {
        case null
        /// As it stands there.
        case plain(ByteView)
        /// Without escapes.
        case unescaped([UInt8])

        var isNull: Bool {
            if case .null = self { true } else { false }
        }
    }

    private let text: ByteView
    private var position = 0

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    init(_ text: ByteView) {
        self.text = text
    }

    var isAtEnd: Bool { position == text.count }

    /// The next byte; `nil` at the end.
    var next: UInt8? { position < text.count ? text[position] : nil }

    // MARK: Marks

    /// Reads a byte, if it is there.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Reads a word, if it is there.
    mutating func skip(_ word: StaticString) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= text.count, text[position..<end].equals(word) else { return false }
        position = end
        return true
    }

    /// Reads a byte that must be there.
    mutating func expect(_ byte: UInt8) throws(NestedValueWriter.Failure) {
        guard skip(byte) else { throw .unparsed }
    }

    /// Reads one of two bytes.
    ///
    /// - Returns: Whether it is the second one.
    mutating func choose(_ first: UInt8, _ second: UInt8) throws(NestedValueWriter.Failure) -> Bool {
        if skip(first) { return false }
        try expect(second)
        return true
    }

    /// Reads the bounds that stand before an array that does not begin with 1: `[0:1][-2:3]=`.
    mutating func skipBounds() throws(NestedValueWriter.Failure) {
        guard next == UInt8(ascii: "[") else { return }
        while let byte = next, byte != UInt8(ascii: "=") {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"),
                UInt8(ascii: "-"):
                position += 1
            default: throw .unparsed
            }
        }
        guard text[position - 1] == UInt8(ascii: "]") else { throw .unparsed }
        try expect(UInt8(ascii: "="))
    }

    // MARK: Parts

    /// Reads an element of an array, up to the delimiter or the closing brace.
    mutating func element(delimiter: UInt8) throws(NestedValueWriter.Failure) -> Part {
        if next == Self.quote { return try quoted() }
        let start = position
        while let byte = next, byte != delimiter, byte != UInt8(ascii: "}") {
            // All of these would be quoted.
            guard byte != Self.quote, byte != Self.backslash, byte != UInt8(ascii: "{") else { throw .unparsed }
            position += 1
        }
        guard position > start, !isAtEnd else { throw .unparsed }
        let element = text[start..<position]
        return element.equals("NULL") ? .null : .plain(element)
    }

    /// Reads a column of a composite, up to a comma or the closing parenthesis.
    mutating func field() throws(NestedValueWriter.Failure) -> Part {
        try part { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ")") }
    }

    /// Reads a bound of a range, up to a comma, a parenthesis or a bracket.
    mutating func bound() throws(NestedValueWriter.Failure) -> Part {
        try part { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ")") || $0 == UInt8(ascii: "]") }
    }

    private mutating func part(until isEnd: (UInt8) -> Bool) throws(NestedValueWriter.Failure) -> Part {
        if next == Self.quote { return try quoted() }
        let start = position
        while let byte = next, !isEnd(byte) {
            guard byte != Self.quote, byte != Self.backslash else { throw .unparsed }
            position += 1
        }
        guard !isAtEnd else { throw .unparsed }
        return position == start ? .null : .plain(text[start..<position])
    }

    /// Reads a text in quotes.
    ///
    /// A backslash takes what follows as it is, and so does a second quote.
    private mutating func quoted() throws(NestedValueWriter.Failure) -> Part {
        position += 1
        let start = position
        while let byte = next, byte != Self.quote, byte != Self.backslash { position += 1 }
        guard !isAtEnd else { throw .unparsed }
        if text[position] == Self.quote, position + 1 == text.count || text[position + 1] != Self.quote {
            defer { position += 1 }
            return .plain(text[start..<position])
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count - start)
        text[start..<position].append(to: &bytes)
        while let byte = next {
            position += 1
            if byte == Self.backslash || byte == Self.quote && next == Self.quote {
                guard let escaped = next else { throw .unparsed }
                bytes.append(escaped)
                position += 1
            } else if byte == Self.quote {
                return .unescaped(bytes)
            } else {
                bytes.append(byte)
            }
        }
        throw .unparsed
    }
}

/// A pull scanner over JSON text (RFC 8259).
///
/// The caller asks for what it expects, in the order of the text; nothing is allocated. Strings and numbers come as
/// tokens that refer to the bytes. Syntax and UTF-8 are checked on the way, also in what is skipped.
///
/// ```swift
/// try ByteView.of(#"{"a":1,"b":[true]}"#) { bytes throws(JSONError) in
///     var scanner = JSONScanner(bytes)
///     try scanner.beginObject()
///     while let name = try scanner.nextMember() {          // a, then b
///         let value = try scanner.skipValue()              // the range of 1, then of [true]
///     }
///     try scanner.finish()
/// }
/// ```
///
/// After ``beginObject()``, alternate ``nextMember()`` and exactly one value until `nextMember()` returns `nil`; after
/// ``beginArray()`` do so with ``nextElement()``. A scanner is as long valid as its bytes are.
package struct JSONScanner {
    /// The largest number of arrays and objects inside each other.
    ///
    /// Rows have at most 20 levels; official clients stop at this limit, too.
    package static let maximumNesting = 128

    /// What becomes of numbers that no double can hold.
    package enum HugeNumbers: Sendable {
        /// The text is refused.
        case refused
        /// They are infinite.
        case infinite
    }

    /// What becomes of halves of surrogate pairs, such as `\ud83d` alone: what JavaScript makes of a text that was cut within a character
    /// (RFC 8259, 8.2).
    ///
    /// Where they are let pass they are U+FFFD, in texts that say something, and never in names of members, which identify.
    package enum HalfPairs: Sendable {
        /// The text is refused.
        case refused
        /// They are replaced in the values of members with these names, and in all that is inside of them.
        case replacedIn(Set<String>)
        /// They are replaced in all values but those of members with these names of the outermost object.
        case replacedExceptIn(Set<String>)
        /// They are replaced everywhere, also in names.
        case replaced
    }

    /// The kinds of values, recognised by their first byte.
    package enum ValueKind: Sendable {
        case object, array, string, number, bool, null
    }

    /// The text.
    package let bytes: ByteView
    /// The offset of the next byte.
    package private(set) var offset = 0
    /// What ``readValue()`` does with numbers that no double can hold.
    package var hugeNumbers = HugeNumbers.refused
    /// What ``readValue()`` does with halves of surrogate pairs.
    package var halfPairs = HalfPairs.refused {
        didSet { if case .replaced = halfPairs { replacesHalfPairs = true } }
    }
    /// Whether halves of surrogate pairs pass in the next string.
    private(set) var replacesHalfPairs = false
    private(set) var depth = 0
    /// Whether the innermost container has been opened and nothing has been read from it.
    private var isAtStart = false

    /// Creates a scanner.
    package init(_ bytes: ByteView) {
        self.bytes = bytes
    }

    /// Creates a scanner of memory that stays valid and unchanged while the scanner is used.
    @unsafe package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = unsafe ByteView(bytes)
    }

    /// The kind of the value that comes next.
    ///
    /// White space before it is skipped.
    package mutating func nextKind() throws(JSONError) -> ValueKind {
        switch try nextByte(expecting: "a value") {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw JSONError(.expected("a value"), at: offset)
        }
    }

    /// Checks that only white space is left.
    package mutating func finish() throws(JSONError) {
        skipWhitespace()
        guard offset == bytes.count else { throw JSONError(.trailingBytes, at: offset) }
    }
}

// MARK: Containers

extension JSONScanner {
    /// Reads the `{` of an object.
    package mutating func beginObject() throws(JSONError) {
        try open(UInt8(ascii: "{"), "an object")
    }

    /// Reads the `[` of an array.
    package mutating func beginArray() throws(JSONError) {
        try open(UInt8(ascii: "["), "an array")
    }

    /// Reads the name of the next member and its colon.
    ///
    /// - Returns: `nil` at the end of the object, whose `}` has then been read.
    package mutating func nextMember() throws(JSONError) -> JSONStringToken? {
        guard try advance(unless: UInt8(ascii: "}"), "',' or '}'") else { return nil }
        guard try nextByte(expecting: "a member name") == UInt8(ascii: "\"") else {
            throw JSONError(.expected("a member name"), at: offset)
        }
        let name = try readString()
        guard try nextByte(expecting: "':'") == UInt8(ascii: ":") else {
            throw JSONError(.expected("':'"), at: offset)
        }
        offset += 1
        return name
    }

    /// Moves to the next element of an array.
    ///
    /// - Returns: `false` at the end of the array, whose `]` has then been read.
    package mutating func nextElement() throws(JSONError) -> Bool {
        try advance(unless: UInt8(ascii: "]"), "',' or ']'")
    }

    private mutating func open(_ bracket: UInt8, _ expectation: String) throws(JSONError) {
        guard try nextByte(expecting: expectation) == bracket else {
            throw JSONError(.expected(expectation), at: offset)
        }
        guard depth < Self.maximumNesting else { throw JSONError(.nestingTooDeep, at: offset) }
        offset += 1
        depth += 1
        isAtStart = true
    }

    /// Reads the closing bracket (`false`), or the comma before the next item (`true`).
    private mutating func advance(unless bracket: UInt8, _ expectation: String) throws(JSONError) -> Bool {
        let byte = try nextByte(expecting: expectation)
        let isFirst = isAtStart
        isAtStart = false
        if byte == bracket {
            offset += 1
            depth -= 1
            return false
        }
        guard !isFirst else { return true }
        guard byte == UInt8(ascii: ",") else { throw JSONError(.expected(expectation), at: offset) }
        offset += 1
        return true
    }
}

// MARK: Halves of surrogate pairs

extension JSONScanner {
    /// Reads the name of the next member, whose value is read with ``readValue()`` then; see ``nextMember()``.
    ///
    /// - Parameter replaces: Whether halves of surrogate pairs pass in the value that has the member.
    /// - Returns: `nil` at the end of the object.
    /// - Throws: ``JSONError``.
    mutating func nextMember(in replaces: Bool) throws(JSONError) -> String? {
        if case .replaced = halfPairs { return try nextMember()?.string }
        replacesHalfPairs = false
        guard let name = try nextMember()?.string else {
            replacesHalfPairs = replaces
            return nil
        }
        switch halfPairs {
        case .refused, .replaced: break
        case .replacedIn(let names): replacesHalfPairs = replaces || names.contains(name)
        case .replacedExceptIn(let names): replacesHalfPairs = depth > 1 ? replaces : !names.contains(name)
        }
        return name
    }
}

// MARK: Scalars

extension JSONScanner {
    /// Reads `true` or `false`.
    package mutating func readBool() throws(JSONError) -> Bool {
        if try nextByte(expecting: "true or false") == UInt8(ascii: "t") {
            try readLiteral("true")
            return true
        }
        try readLiteral("false")
        return false
    }

    /// Reads `null`.
    package mutating func readNull() throws(JSONError) {
        skipWhitespace()
        try readLiteral("null")
    }

    /// Reads a number.
    package mutating func readNumber() throws(JSONError) -> JSONNumberToken {
        _ = try nextByte(expecting: "a number")
        let start = offset
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) {
            guard skipDigits() else {
                throw JSONError(offset == start ? .expected("a number") : .invalidNumber, at: offset)
            }
        }
        var isInteger = true
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            guard skipDigits() else { throw JSONError(.invalidNumber, at: offset) }
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard skipDigits() else { throw JSONError(.invalidNumber, at: offset) }
        }
        return JSONNumberToken(bytes: bytes[start..<offset], isInteger: isInteger, offset: start)
    }

    /// Reads a string.
    package mutating func readString() throws(JSONError) -> JSONStringToken {
        guard try nextByte(expecting: "a string") == UInt8(ascii: "\"") else {
            throw JSONError(.expected("a string"), at: offset)
        }
        let start = offset + 1
        let (end, hasEscapes) = try endOfString(from: start)
        offset = end + 1
        return JSONStringToken(bytes: bytes[start..<end], hasEscapes: hasEscapes, offset: start)
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        let end = offset + literal.utf8CodeUnitCount
        guard end <= bytes.count, bytes[offset..<end].equals(literal) else {
            throw JSONError(.expected("'\(literal)'"), at: offset)
        }
        offset = end
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = offset
        while offset < bytes.count, bytes[offset] &- UInt8(ascii: "0") < 10 { offset += 1 }
        return offset > start
    }
}

// MARK: Skipping

extension JSONScanner {
    /// Reads a value of any kind without keeping it.
    ///
    /// - Returns: The range of its bytes, without white space around it.
    package mutating func skipValue() throws(JSONError) -> Range<Int> {
        skipWhitespace()
        let start = offset
        switch try nextKind() {
        case .string: _ = try readString()
        case .number: _ = try readNumber()
        case .bool: _ = try readBool()
        case .null: try readNull()
        case .object:
            // The depth is limited, so recursion is.
            try beginObject()
            while try nextMember() != nil { _ = try skipValue() }
        case .array:
            try beginArray()
            while try nextElement() { _ = try skipValue() }
        }
        return start..<offset
    }

    private mutating func skipWhitespace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): offset += 1
            default: return
            }
        }
    }

    private mutating func nextByte(expecting expectation: String) throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
        return bytes[offset]
    }
}

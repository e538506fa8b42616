extension JSONScanner {
    /// Finds the closing quote of the string whose content starts at `start`, checking the content on the way.
    ///
    /// - Throws: `unexpectedEnd`, `unescapedControlCharacter`, `invalidEscape`, `halfSurrogatePair` or `invalidUTF8`.
    func endOfString(from start: Int) throws(JSONError) -> (end: Int, hasEscapes: Bool) {
        var offset = start
        var hasEscapes = false
        while true {
            offset = bytes.endOfPlainText(from: offset)
            guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                return (offset, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                var escape = JSONEscape.Reader(bytes, at: offset, replacesHalfPairs: replacesHalfPairs)
                _ = try escape.next()
                offset = escape.offset
            case 0x80...:
                guard let length = bytes.lengthOfUTF8Sequence(at: offset, before: bytes.count) else {
                    throw JSONError(.invalidUTF8, at: offset)
                }
                offset += length
            default:
                throw JSONError(.unescapedControlCharacter, at: offset)
            }
        }
    }
}

extension ByteView {
    /// The offset of the first byte that is not a plain character of a JSON string: a quote, a backslash, a control
    /// character or a byte above 7f.
    ///
    /// ``count`` if there is none.
    ///
    /// Looks at eight bytes at a time: subtracting 01 from a byte sets its high bit only if the byte was 00 (or had the
    /// high bit), so xor turns "equals c" into "is zero", and subtracting 20 finds control characters. A borrow can
    /// only disturb bytes above a byte that was found, and the lowest one counts.
    package func endOfPlainText(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits: UInt64 = 0x8080_8080_8080_8080
        var offset = start
        while count - offset >= 8 {
            let word = littleEndian(at: offset, as: UInt64.self)
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let found = ((quote &- ones) | (backslash &- ones) | (word &- ones &* 0x20) | word) & highBits
            if found != 0 { return offset + found.trailingZeroBitCount / 8 }
            offset += 8
        }
        while offset < count {
            switch self[offset] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x00..<0x20, 0x80...: return offset
            default: offset += 1
            }
        }
        return offset
    }
}

/// Checks of UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
extension ByteView {
    /// The eight high bits of a word of eight bytes: set in none of them when all are ASCII.
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// The offset of the first byte of a range that does not belong to a valid UTF-8 sequence; `nil` when all are valid.
    ///
    /// - Complexity: O(length of the range), eight ASCII bytes at a time.
    package func firstInvalidUTF8(in range: Range<Int>) -> Int? {
        var offset = range.lowerBound
        while offset < range.upperBound {
            if range.upperBound - offset >= 8, littleEndian(at: offset, as: UInt64.self) & Self.highBits == 0 {
                offset += 8
            } else if self[offset] < 0x80 {
                offset += 1
            } else if let length = lengthOfUTF8Sequence(at: offset, before: range.upperBound) {
                offset += length
            } else {
                return offset
            }
        }
        return nil
    }

    /// The length of the multi-byte sequence that starts at `offset`, 2 … 4; `nil` when it is invalid or cut off by `end`.
    package func lengthOfUTF8Sequence(at offset: Int, before end: Int) -> Int? {
        let first = self[offset]
        let length: Int
        // The second byte has a narrower range after some first bytes; the rest is always 80 … BF.
        let second: ClosedRange<UInt8>
        switch first {
        case 0xc2...0xdf: (length, second) = (2, 0x80...0xbf)
        case 0xe0: (length, second) = (3, 0xa0...0xbf)
        case 0xed: (length, second) = (3, 0x80...0x9f)
        case 0xe1...0xef: (length, second) = (3, 0x80...0xbf)
        case 0xf0: (length, second) = (4, 0x90...0xbf)
        case 0xf1...0xf3: (length, second) = (4, 0x80...0xbf)
        case 0xf4: (length, second) = (4, 0x80...0x8f)
        default: return nil
        }
        guard end - offset >= length, second.contains(self[offset + 1]) else { return nil }
        for index in 2..<4 where index < length {
            guard self[offset + index] & 0xc0 == 0x80 else { return nil }
        }
        return length
    }
}

import NIOCore

/// A string in JSON text, still with its escape sequences.
///
/// Made by ``JSONScanner``, which has checked it. Half a surrogate pair that the scanner has let pass is U+FFFD.
package struct JSONStringToken {
    /// The bytes between the quotes.
    package let bytes: ByteView
    /// Whether there are escape sequences.
    ///
    /// If not, ``bytes`` is the value.
    package let hasEscapes: Bool
    /// The offset of the first byte after the opening quote, in the text that was scanned.
    package let offset: Int

    /// The value.
    package var string: String {
        guard hasEscapes else { return bytes.string }
        return String(decoding: unescapedBytes, as: UTF8.self)
    }

    /// The value as UTF-8 bytes.
    package var unescapedBytes: [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: bytes.count) { memory, count in
            var sink = unsafe FixedByteSink(UnsafeMutableRawBufferPointer(memory))
            appendUnescaped(to: &sink)
            count = sink.count
        }
    }

    /// Whether the value consists of the bytes of a literal.
    package func equals(_ literal: StaticString) -> Bool {
        guard hasEscapes else { return bytes.equals(literal) }
        return literal.withUTF8Buffer { expected in unsafe unescapedBytes.elementsEqual(expected) }
    }

    /// Appends the value as UTF-8.
    func append(to buffer: inout ByteBuffer) {
        guard hasEscapes else {
            buffer.append(bytes)
            return
        }
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bytes.count) { memory in
            var sink = unsafe FixedByteSink(memory)
            appendUnescaped(to: &sink)
            return sink.count
        }
    }

    /// Appends the value as UTF-8, which is never longer than ``bytes``: an escape sequence has two bytes for a character
    /// of one, or six for one of up to three, or twelve for one of four.
    private func appendUnescaped(to sink: inout FixedByteSink) {
        var offset = 0
        while offset < bytes.count {
            let byte = bytes[offset]
            guard byte == UInt8(ascii: "\\") else {
                sink.append(byte)
                offset += 1
                continue
            }
            var escape = JSONEscape.Reader(bytes, at: offset, replacesHalfPairs: true)
            // The scanner has validated every escape; a text that was cut off for a message loses its end.
            guard let scalar = try? escape.next() else { return }
            offset = escape.offset
            for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { sink.append(unit) }
        }
    }
}

/// The escape sequences of JSON strings: `\" \\ \/ \b \f \n \r \t \uXXXX`, and surrogate pairs of the last form.
enum JSONEscape {
    /// Reads escape sequences.
    struct Reader {
        private let bytes: ByteView
        private let replacesHalfPairs: Bool
        /// The offset after what has been read.
        private(set) var offset: Int

        /// Starts at the offset of a backslash.
        ///
        /// - Parameters:
        ///   - bytes: The text.
        ///   - offset: Where to start.
        ///   - replacesHalfPairs: Whether half a surrogate pair is U+FFFD, and no error.
        init(_ bytes: ByteView, at offset: Int, replacesHalfPairs: Bool) {
            self.bytes = bytes
            self.offset = offset
            self.replacesHalfPairs = replacesHalfPairs
        }

        /// Reads one escape sequence, or two if they are a surrogate pair.
        mutating func next() throws(JSONError) -> Unicode.Scalar {
            let start = offset
            guard offset + 1 < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
            let letter = bytes[offset + 1]
            offset += 2
            switch letter {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{c}"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "u"): break
            default: throw JSONError(.invalidEscape, at: start)
            }
            let first = try readHexadecimal(startOfEscape: start)
            if let scalar = Unicode.Scalar(first) { return scalar }
            if first < 0xdc00, let scalar = try readPair(with: first) { return scalar }
            guard replacesHalfPairs else { throw JSONError(.halfSurrogatePair, at: start) }
            return "\u{fffd}"
        }

        /// Reads the second half of a pair, if it is what follows.
        private mutating func readPair(with first: UInt32) throws(JSONError) -> Unicode.Scalar? {
            guard bytes.count - offset >= 6, bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u")
            else { return nil }
            let start = offset
            offset += 2
            let second = try readHexadecimal(startOfEscape: start)
            guard (0xdc00...0xdfff).contains(second) else {
                offset = start
                return nil
            }
            return Unicode.Scalar(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        }

        private mutating func readHexadecimal(startOfEscape: Int) throws(JSONError) -> UInt32 {
            guard bytes.count - offset >= 4 else { throw JSONError(.unexpectedEnd, at: bytes.count) }
            var value: UInt32 = 0
            for index in offset..<offset + 4 {
                let digit = bytes[index]
                let nibble: UInt8
                switch digit {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = digit - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = digit - UInt8(ascii: "a") + 10
                case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = digit - UInt8(ascii: "A") + 10
                default: throw JSONError(.invalidEscape, at: startOfEscape)
                }
                value = value << 4 | UInt32(nibble)
            }
            offset += 4
            return value
        }
    }
}

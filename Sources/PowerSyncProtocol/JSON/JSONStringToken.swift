import NIOCore

/// A string in JSON text, still with its escape sequences.
///
/// Made by ``JSONScanner``, which has checked it.
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
            var escape = JSONEscape.Reader(bytes, at: offset)
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
        /// The offset after what has been read.
        private(set) var offset: Int

        /// Starts at the offset of a backslash.
        init(_ bytes: ByteView, at offset: Int) {
            self.bytes = bytes
            self.offset = offset
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
            // Half of a surrogate pair: a first half has to be followed by a second one.
            guard first < 0xdc00 else { throw JSONError(.invalidEscape, at: start) }
            guard offset + 1 < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
            guard bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u") else {
                throw JSONError(.invalidEscape, at: start)
            }
            offset += 2
            let second = try readHexadecimal(startOfEscape: start)
            guard
                (0xdc00...0xdfff).contains(second),
                let scalar = Unicode.Scalar(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            else { throw JSONError(.invalidEscape, at: start) }
            return scalar
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

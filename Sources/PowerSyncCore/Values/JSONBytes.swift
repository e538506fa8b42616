import PowerSyncProtocol

/// JSON text that is put together from pieces that SQLite hands over as bytes.
///
/// Its memory is used again, unless it is large: one long text should not cost its memory for as long as a connection lives.
struct JSONBytes {
    /// The most memory that is kept, in bytes.
    static let keptCapacity = 65_536

    private var bytes: [UInt8] = []

    var isEmpty: Bool { bytes.isEmpty }
    var count: Int { bytes.count }
    /// The size of the memory in bytes.
    var capacity: Int { bytes.capacity }

    /// Whether these are the bytes.
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.equals(other)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Frees the memory if it is larger than what is kept; the text is empty then.
    ///
    /// For an owner that keeps the value, when the text was used.
    mutating func giveUpLargeMemory() {
        if bytes.capacity > Self.keptCapacity { bytes = [] }
    }

    mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func append(_ text: UnsafeRawBufferPointer) {
        unsafe bytes.append(contentsOf: text)
    }

    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends the digits of an integer.
    mutating func append(_ integer: Int64) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = integer.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// Appends a string with quotes.
    ///
    /// Only `"`, `\` and control characters are escaped.
    mutating func appendString(_ text: UnsafeRawBufferPointer) {
        _ = unsafe appendString(text, acceptsInvalidUTF8: true)
    }

    /// Appends a string with quotes, unless it is not valid UTF-8.
    ///
    /// - Returns: Whether it is valid; if not, a part of it was appended.
    mutating func appendValidString(_ text: UnsafeRawBufferPointer) -> Bool {
        unsafe appendString(text, acceptsInvalidUTF8: false)
    }

    private mutating func appendString(_ text: UnsafeRawBufferPointer, acceptsInvalidUTF8: Bool) -> Bool {
        let view = unsafe ByteView(text)
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        var offset = view.endOfPlainText(from: 0)
        while offset < text.count {
            if unsafe text[offset] >= 0x80 {
                if acceptsInvalidUTF8 {
                    offset += 1
                } else {
                    guard let length = view.lengthOfUTF8Sequence(at: offset, before: text.count) else { return false }
                    offset += length
                }
            } else {
                unsafe bytes.append(contentsOf: text[start..<offset])
                unsafe appendEscaped(text[offset])
                offset += 1
                start = offset
            }
            offset = view.endOfPlainText(from: offset)
        }
        unsafe bytes.append(contentsOf: text[start...])
        bytes.append(UInt8(ascii: "\""))
        return true
    }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // `Array.withUnsafeBytes` has no typed throws.
        let outcome: Swift.Result<Result, Failure> = unsafe bytes.withUnsafeBytes { bytes in
            do throws(Failure) {
                return unsafe .success(try body(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            append("u00")
            for digit in [byte >> 4, byte & 0xf] {
                bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }
}

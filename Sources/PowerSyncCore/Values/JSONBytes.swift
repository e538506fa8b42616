import PowerSyncProtocol

/// JSON text that is put together from pieces that SQLite hands over as bytes.
///
/// Its memory is used again, unless it is large: one long text should not cost its memory for as long as a connection lives.
struct JSONBytes {
    /// The most memory that is kept, in bytes.
    static let keptCapacity = 65_536

    /// The text, and room behind it.
    ///
    /// A row is put together from dozens of short pieces, and an array that grows by each of them takes longer for that than for the
    /// bytes.
    private var memory: [UInt8] = []
    /// The length of the text in bytes.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// The size of the memory in bytes.
    var capacity: Int { memory.capacity }

    /// Whether these are the bytes.
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        unsafe withUnsafeBytes { unsafe $0.hasBytes(of: other) }
    }

    mutating func removeAll() {
        count = 0
    }

    /// Frees the memory if it is larger than what is kept; the text is empty then.
    ///
    /// For an owner that keeps the value, when the text was used.
    mutating func giveUpLargeMemory() {
        if memory.capacity > Self.keptCapacity { self = JSONBytes() }
    }

    mutating func append(_ byte: UInt8) {
        makeRoom(for: 1)
        memory[count] = byte
        count += 1
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    mutating func append(_ text: UnsafeRawBufferPointer) {
        makeRoom(for: text.count)
        let start = count
        unsafe memory.withUnsafeMutableBytes {
            unsafe UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyMemory(from: text)
        }
        count += text.count
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends the digits of an integer.
    mutating func append(_ integer: Int64) {
        if integer < 0 { append(UInt8(ascii: "-")) }
        var digitCount = 1
        var rest = integer.magnitude / 10
        while rest > 0 {
            digitCount += 1
            rest /= 10
        }
        makeRoom(for: digitCount)
        count += digitCount
        rest = integer.magnitude
        for place in (count - digitCount..<count).reversed() {
            memory[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Sees to it that so many bytes fit behind the text.
    private mutating func makeRoom(for added: Int) {
        let missing = count + added - memory.count
        guard missing > 0 else { return }
        memory.append(contentsOf: repeatElement(0, count: max(missing, memory.count, 64)))
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
        // Without what is escaped.
        makeRoom(for: text.count + 2)
        append(UInt8(ascii: "\""))
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
                unsafe append(UnsafeRawBufferPointer(rebasing: text[start..<offset]))
                unsafe appendEscaped(text[offset])
                offset += 1
                start = offset
            }
            offset = view.endOfPlainText(from: offset)
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: text[start...]))
        append(UInt8(ascii: "\""))
        return true
    }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // `Array.withUnsafeBytes` has no typed throws.
        let outcome: Swift.Result<Result, Failure> = unsafe memory.withUnsafeBytes { memory in
            do throws(Failure) {
                return unsafe .success(try body(UnsafeRawBufferPointer(rebasing: memory[..<count])))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x0c: append(UInt8(ascii: "f"))
        case 0x0a: append(UInt8(ascii: "n"))
        case 0x0d: append(UInt8(ascii: "r"))
        case 0x09: append(UInt8(ascii: "t"))
        default:
            append("u00")
            for digit in [byte >> 4, byte & 0xf] {
                append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }
}

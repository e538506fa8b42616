/// The types of BSON elements that can be read (docs/protocol.md "BSON").
enum BSONElementType: UInt8 {
    case double = 1
    case string = 2
    case document = 3
    case array = 4
    case binary = 5
    case undefined = 6
    case objectID = 7
    case bool = 8
    case dateTime = 9
    case null = 10
    case int32 = 16
    case timestamp = 17
    case int64 = 18
}

/// A pull reader over a BSON document.
///
/// ```
/// document  int32 length (of all of it), elements, 00
/// element   type byte, name, 00, value
/// string    int32 length (of what follows), UTF-8, 00
/// binary    int32 length (of the content), subtype byte, content
/// array     a document; only the order of its elements counts
/// name      UTF-8 without a zero
/// ```
///
/// Integers are little endian. Every length is checked against the innermost document that has been opened, before it
/// is used. Embedded documents that are skipped are not looked into, so nesting costs nothing.
struct BSONReader {
    /// A document that is being read.
    struct Document {
        /// The limit to go back to after its end.
        fileprivate let enclosingLimit: Int
    }

    /// The bytes.
    let bytes: ByteView
    /// The offset of the next byte.
    private(set) var offset = 0
    /// The offset of the terminating zero of the innermost document; no value extends beyond.
    private var limit: Int

    /// Creates a reader.
    init(_ bytes: ByteView) {
        self.bytes = bytes
        self.limit = bytes.count
    }

    /// Reads the length of a document or an array.
    mutating func beginDocument() throws(BSONError) -> Document {
        let start = offset
        let end = try endOfDocument()
        let document = Document(enclosingLimit: limit)
        offset = start + 4
        limit = end - 1
        return document
    }

    /// Reads the type and the name of the next element.
    ///
    /// - Returns: `nil` at the end of the document, whose zero byte has then been read.
    mutating func nextElement(in document: Document) throws(BSONError) -> (type: BSONElementType, name: ByteView)? {
        if offset == limit {
            offset += 1
            limit = document.enclosingLimit
            return nil
        }
        let typeByte = bytes[offset]
        guard let type = BSONElementType(rawValue: typeByte) else {
            throw BSONError(.unknownElementType(typeByte), at: offset)
        }
        let start = offset + 1
        var end = start
        var bits: UInt8 = 0
        while end < limit, bytes[end] != 0 {
            bits |= bytes[end]
            end += 1
        }
        guard end < limit else { throw BSONError(.truncated, at: offset) }
        // Names that are known are ASCII; what is not even text must not pass for a name that is merely unknown.
        if bits >= 0x80, let invalid = bytes.firstInvalidUTF8(in: start..<end) {
            throw BSONError(.invalidUTF8, at: invalid)
        }
        offset = end + 1
        return (type, bytes[start..<end])
    }

    /// Checks that nothing follows after the outermost document.
    func finish() throws(BSONError) {
        guard offset == bytes.count else { throw BSONError(.trailingBytes, at: offset) }
    }

    /// Checks a document that starts here, without its content.
    ///
    /// - Returns: The offset after its terminating zero.
    private func endOfDocument() throws(BSONError) -> Int {
        try require(4)
        let length = bytes.littleEndian(at: offset, as: Int32.self)
        guard length >= 5, Int(length) <= limit - offset else {
            throw BSONError(.invalidDocumentLength(length), at: offset)
        }
        let end = offset + Int(length)
        guard bytes[end - 1] == 0 else { throw BSONError(.missingTerminator, at: end - 1) }
        return end
    }

    private func require(_ count: Int) throws(BSONError) {
        guard limit - offset >= count else { throw BSONError(.truncated, at: offset) }
    }
}

// MARK: Values

extension BSONReader {
    /// Reads an integer of 4 or 8 bytes.
    mutating func readInteger<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type
    ) throws(BSONError) -> Integer {
        try require(MemoryLayout<Integer>.size)
        defer { offset += MemoryLayout<Integer>.size }
        return bytes.littleEndian(at: offset, as: type)
    }

    /// Reads a double.
    mutating func readDouble() throws(BSONError) -> Double {
        Double(bitPattern: try readInteger(UInt64.self))
    }

    /// Reads a boolean: zero is false, anything else is true.
    mutating func readBool() throws(BSONError) -> Bool {
        try require(1)
        defer { offset += 1 }
        return bytes[offset] != 0
    }

    /// Reads a string.
    ///
    /// - Returns: The range of its bytes, which are valid UTF-8 and may contain zeros.
    mutating func readString() throws(BSONError) -> Range<Int> {
        let content = try skipString()
        if let invalid = bytes.firstInvalidUTF8(in: content) { throw BSONError(.invalidUTF8, at: invalid) }
        return content
    }

    /// Reads a value without keeping it.
    mutating func skipValue(of type: BSONElementType) throws(BSONError) {
        switch type {
        case .undefined, .null: break
        case .bool: try skip(1)
        case .int32: try skip(4)
        case .double, .dateTime, .timestamp, .int64: try skip(8)
        case .objectID: try skip(12)
        case .string: _ = try skipString()
        case .document, .array: offset = try endOfDocument()
        case .binary:
            let start = offset
            let length = try readInteger(Int32.self)
            guard length >= 0 else { throw BSONError(.invalidBinaryLength(length), at: start) }
            try skip(1)
            try skip(Int(length))
        }
    }

    private mutating func skip(_ count: Int) throws(BSONError) {
        try require(count)
        offset += count
    }

    private mutating func skipString() throws(BSONError) -> Range<Int> {
        let start = offset
        let length = try readInteger(Int32.self)
        guard length >= 1 else { throw BSONError(.invalidStringLength(length), at: start) }
        let content = offset..<offset + Int(length) - 1
        try skip(Int(length))
        guard bytes[content.upperBound] == 0 else { throw BSONError(.missingTerminator, at: content.upperBound) }
        return content
    }
}

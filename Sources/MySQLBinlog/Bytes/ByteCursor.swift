import NIOCore

/// Reads fields of bytes one after another; integers are little endian unless the name says otherwise.
///
/// Every read is checked against the number of bytes that are left, so that no input reads beyond them. The bytes must stay where they
/// are while the cursor is used: one is only made in ``NIOCore/ByteBuffer/withCursor(_:)``, and does not leave its closure.
@safe struct ByteCursor {
    private let bytes: UnsafeRawBufferPointer
    /// The offset of the next field.
    private(set) var index: Int
    /// The offset after the last byte.
    let end: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = unsafe bytes
        index = 0
        end = bytes.count
    }

    private init(_ bytes: UnsafeRawBufferPointer, from index: Int, to end: Int) {
        unsafe self.bytes = unsafe bytes
        self.index = index
        self.end = end
    }

    /// The number of bytes that were not read.
    var count: Int { end &- index }

    // MARK: Numbers

    /// The next byte.
    @inline(__always)
    mutating func byte(_ field: StaticString) throws(BinlogFault) -> UInt8 {
        guard index < end else { throw BinlogFault(field, .truncated) }
        defer { index &+= 1 }
        return unsafe bytes[index]
    }

    /// The next byte, which is not passed over.
    func peek(_ field: StaticString) throws(BinlogFault) -> UInt8 {
        guard index < end else { throw BinlogFault(field, .truncated) }
        return unsafe bytes[index]
    }

    /// An integer of the width of its type.
    @inline(__always)
    mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ field: StaticString,
        as type: Integer.Type = Integer.self
    ) throws(BinlogFault) -> Integer {
        let width = MemoryLayout<Integer>.size
        guard count >= width else { throw BinlogFault(field, .truncated) }
        defer { index &+= width }
        return unsafe Integer(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: Integer.self))
    }

    /// An integer without sign of 1 to 8 bytes.
    @inline(__always)
    mutating func unsigned(_ field: StaticString, bytes width: Int) throws(BinlogFault) -> UInt64 {
        guard width <= count else { throw BinlogFault(field, .truncated) }
        var value: UInt64 = 0
        for offset in 0..<width { unsafe value |= UInt64(bytes[index &+ offset]) << UInt64(8 &* offset) }
        index &+= width
        return value
    }

    /// An integer without sign of 1 to 8 bytes, big endian.
    @inline(__always)
    mutating func bigEndian(_ field: StaticString, bytes width: Int) throws(BinlogFault) -> UInt64 {
        guard width <= count else { throw BinlogFault(field, .truncated) }
        var value: UInt64 = 0
        for offset in 0..<width { unsafe value = value << 8 | UInt64(bytes[index &+ offset]) }
        index &+= width
        return value
    }

    /// An integer whose first byte says how wide it is: up to 250 it is the number; 252, 253 and 254 say that 2, 3 and 8 bytes follow.
    mutating func lengthEncoded(_ field: StaticString) throws(BinlogFault) -> UInt64 {
        let first = try byte(field)
        switch first {
        case 0...250: return UInt64(first)
        case 252: return try unsigned(field, bytes: 2)
        case 253: return try unsigned(field, bytes: 3)
        case 254: return try unsigned(field, bytes: 8)
        default: throw BinlogFault(field, .impossible(UInt64(first)))
        }
    }

    /// The same, as a number of bytes that are there.
    mutating func length(_ field: StaticString) throws(BinlogFault) -> Int {
        let length = try lengthEncoded(field)
        guard length <= UInt64(count) else { throw BinlogFault(field, .impossible(length)) }
        return Int(length)
    }

    // MARK: Bytes

    /// Passes over bytes.
    @inline(__always)
    mutating func skip(_ field: StaticString, _ length: Int) throws(BinlogFault) {
        guard length >= 0, length <= count else { throw BinlogFault(field, .truncated) }
        index &+= length
    }

    /// A copy of the next bytes.
    mutating func array(_ field: StaticString, _ length: Int) throws(BinlogFault) -> [UInt8] {
        let start = index
        try skip(field, length)
        return unsafe [UInt8](UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
    }

    /// A copy of the next bytes, filled with zeros.
    mutating func array(_ field: StaticString, _ length: Int, filledTo size: Int) throws(BinlogFault) -> [UInt8] {
        var array = try array(field, length)
        if array.count < size { array.append(contentsOf: repeatElement(0, count: size - array.count)) }
        return array
    }

    /// A text in UTF-8, repaired where it is not.
    mutating func repairedText(_ field: StaticString, _ length: Int) throws(BinlogFault) -> String {
        let start = index
        try skip(field, length)
        return unsafe String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self)
    }

    /// A text in UTF-8, or `nil` if it is not; the bytes are passed over in both cases.
    mutating func text(_ field: StaticString, _ length: Int) throws(BinlogFault) -> String? {
        let start = index
        try skip(field, length)
        let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        if unsafe Self.isASCII(source) { return unsafe String(decoding: source, as: UTF8.self) }
        var text = unsafe String(decoding: source, as: UTF8.self)
        // What is repaired is another text.
        let isSame = text.withUTF8 { made in
            unsafe made.count == source.count && UnsafeRawBufferPointer(made).elementsEqual(source)
        }
        return isSame ? text : nil
    }

    /// A text in ASCII, or `nil` if it is not; the bytes are passed over in both cases.
    mutating func ascii(_ field: StaticString, _ length: Int) throws(BinlogFault) -> String? {
        let start = index
        try skip(field, length)
        let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        guard unsafe Self.isASCII(source) else { return nil }
        return unsafe String(decoding: source, as: UTF8.self)
    }

    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var seen: UInt64 = 0
        var offset = 0
        while offset &+ 8 <= bytes.count {
            unsafe seen |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < bytes.count {
            unsafe seen |= UInt64(bytes[offset])
            offset &+= 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    /// A cursor for the next bytes alone, which are passed over.
    mutating func part(_ field: StaticString, _ length: Int) throws(BinlogFault) -> ByteCursor {
        let start = index
        try skip(field, length)
        return unsafe ByteCursor(bytes, from: start, to: index)
    }

    /// A cursor for the bytes from an offset on, up to the end; the offset counts from the start of what this cursor was made for.
    func part(_ field: StaticString, at offset: Int) throws(BinlogFault) -> ByteCursor {
        guard offset >= 0, offset <= end else { throw BinlogFault(field, .truncated) }
        return unsafe ByteCursor(bytes, from: offset, to: end)
    }

    /// Checks that all was read.
    func finish() throws(BinlogFault) {
        guard count == 0 else { throw BinlogFault("end", .trailingBytes) }
    }

    // MARK: Bits

    /// The bit with this number of a bitmap that begins at an offset before ``index``; the first is the lowest of the first byte.
    @inline(__always)
    func bit(_ number: Int, ofBitmapAt start: Int) -> Bool {
        let offset = start &+ number >> 3
        guard offset >= 0, offset < end else { return false }
        return unsafe bytes[offset] >> UInt8(truncatingIfNeeded: number & 7) & 1 != 0
    }

    /// A bitmap of columns.
    mutating func columns(_ field: StaticString, count: Int) throws(BinlogFault) -> ColumnSet {
        let start = index
        try skip(field, (count + 7) / 8)
        return ColumnSet((0..<count).map { bit($0, ofBitmapAt: start) })
    }
}

/// Some columns of a table.
struct ColumnSet: Sendable, Hashable {
    private let isIn: [Bool]
    /// How many there are.
    let count: Int

    init(_ isIn: [Bool]) {
        self.isIn = isIn
        count = isIn.count { $0 }
    }

    /// Whether the column with this index, which the table has, is one of them.
    @inline(__always)
    func contains(_ column: Int) -> Bool { isIn[column] }
}

extension ByteBuffer {
    /// Calls a closure with a cursor for the readable bytes.
    func withCursor<Result>(
        _ body: (inout ByteCursor) throws(BinlogFault) -> Result
    ) throws(BinlogFault) -> Result {
        try unsafe withUnsafeReadableBytes { (bytes) throws(BinlogFault) in
            var cursor = unsafe ByteCursor(bytes)
            return try body(&cursor)
        }
    }
}

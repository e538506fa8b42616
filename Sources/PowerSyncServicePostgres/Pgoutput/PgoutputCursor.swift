import NIOCore

/// Reads the fields of one message from its start, and says which of them is wrong.
struct PgoutputCursor {
    /// The name of the message, for errors.
    var message: StaticString
    private var buffer: ByteBuffer
    private let start: Int

    init(_ buffer: ByteBuffer, message: StaticString) {
        self.buffer = buffer
        self.message = message
        start = buffer.readerIndex
    }

    /// What has not been read.
    var rest: ByteBuffer { buffer.slice() }

    /// An error at the current place, or a few bytes before it.
    func error(
        _ field: StaticString,
        _ reason: PgoutputError.Reason,
        column: Int? = nil,
        bytesBefore: Int = 0
    ) -> PgoutputError {
        PgoutputError(
            message: "\(message)",
            field: column.map { "\(field), column \($0)" } ?? "\(field)",
            offset: buffer.readerIndex - start - bytesBefore,
            reason: reason
        )
    }

    /// Checks that nothing follows.
    func finish() throws(PgoutputError) {
        guard buffer.readableBytes == 0 else { throw error("end", .trailingBytes) }
    }

    // MARK: Fields

    mutating func integer<Integer: FixedWidthInteger>(
        _ field: StaticString,
        column: Int? = nil
    ) throws(PgoutputError) -> Integer {
        guard let value = buffer.readInteger(as: Integer.self) else { throw error(field, .truncated, column: column) }
        return value
    }

    mutating func byte(_ field: StaticString) throws(PgoutputError) -> UInt8 { try integer(field) }

    mutating func oid(_ field: StaticString) throws(PgoutputError) -> PostgresOID {
        PostgresOID(rawValue: try integer(field))
    }

    mutating func position(_ field: StaticString) throws(PgoutputError) -> WALPosition {
        WALPosition(rawValue: try integer(field))
    }

    mutating func instant(_ field: StaticString) throws(PgoutputError) -> PostgresInstant {
        PostgresInstant(rawValue: try integer(field))
    }

    /// A text that ends with a zero byte.
    mutating func string(_ field: StaticString, column: Int? = nil) throws(PgoutputError) -> String {
        guard let length = buffer.readableBytesView.firstIndex(of: 0).map({ $0 - buffer.readerIndex }),
            let text = buffer.readString(length: length)
        else { throw error(field, .truncated, column: column) }
        buffer.moveReaderIndex(forwardBy: 1)
        return text
    }

    /// A length of 32 bits, and as many bytes.
    mutating func bytes(_ field: StaticString) throws(PgoutputError) -> ByteBuffer {
        let length = try length(field, column: nil)
        guard let bytes = buffer.readSlice(length: length) else { throw error(field, .truncated) }
        return bytes
    }

    /// The number of things that follow, each of at least `size` bytes.
    mutating func count<Integer: FixedWidthInteger & SignedInteger>(
        _ field: StaticString,
        of type: Integer.Type,
        each size: Int
    ) throws(PgoutputError) -> Int {
        let count: Integer = try integer(field)
        let width = MemoryLayout<Integer>.size
        guard count >= 0 else { throw error(field, .negative(Int32(count)), bytesBefore: width) }
        guard Int(count) <= buffer.readableBytes / size else {
            throw error(field, .tooLarge(Int32(count)), bytesBefore: width)
        }
        return Int(count)
    }

    private mutating func length(_ field: StaticString, column: Int?) throws(PgoutputError) -> Int {
        let length: Int32 = try integer(field, column: column)
        guard length >= 0 else { throw error(field, .negative(length), column: column, bytesBefore: 4) }
        guard Int(length) <= buffer.readableBytes else {
            throw error(field, .tooLarge(length), column: column, bytesBefore: 4)
        }
        return Int(length)
    }

    /// A tuple, whose columns are checked and not looked at.
    mutating func tuple(_ field: StaticString) throws(PgoutputError) -> PgoutputTuple {
        let count = try count(field, of: Int16.self, each: 1)
        var columns = buffer
        var hasUnchanged = false
        for column in 0..<count {
            let kind: UInt8 = try integer(field, column: column)
            switch PgoutputTuple.Kind(rawValue: kind) {
            case .null: break
            case .unchanged: hasUnchanged = true
            case .text: buffer.moveReaderIndex(forwardBy: try length(field, column: column))
            case nil: throw error(field, .unknownByte(kind), column: column, bytesBefore: 1)
            }
        }
        guard let bytes = columns.readSlice(length: buffer.readerIndex - columns.readerIndex) else {
            throw error(field, .truncated)
        }
        return PgoutputTuple(checked: bytes, count: count, hasUnchanged: hasUnchanged)
    }
}

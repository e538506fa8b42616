/// What a storage has stored in a column, read from its beginning.
///
/// The bytes belong to the caller, and must stay while they are read.
///
/// `@safe`: nothing is taken that is not there. What lends bytes has a pointer in its interface, which marks its callers.
@safe package struct StoredBytes {
    private var bytes: Slice<UnsafeRawBufferPointer>

    /// Begins to read.
    package init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes[...]
    }

    /// Whether there are no more.
    package var isEmpty: Bool { unsafe bytes.isEmpty }

    /// All bytes that are left.
    package var rest: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: bytes) }

    /// Takes one byte; `nil` when there are no more.
    package mutating func readByte() -> UInt8? { unsafe bytes.popFirst() }

    /// Takes an integer of fixed width, least significant byte first.
    package mutating func readInteger<Integer: FixedWidthInteger & BitwiseCopyable>(
        as type: Integer.Type = Integer.self
    ) throws(StoredValues.Corruption) -> Integer {
        let bytes = try unsafe readBytes(count: UInt64(MemoryLayout<Integer>.size))
        return Integer(littleEndian: unsafe bytes.loadUnaligned(as: Integer.self))
    }

    /// Takes a number in as many bytes as it needs; see `append(number:)`.
    package mutating func readNumber() throws(StoredValues.Corruption) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = readByte() else { throw StoredValues.Corruption() }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        throw StoredValues.Corruption()
    }

    /// Takes the length of something, and then its bytes.
    package mutating func readBytes() throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        try unsafe readBytes(count: readNumber())
    }

    /// Takes bytes.
    package mutating func readBytes(count: UInt64) throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        guard unsafe count <= UInt64(bytes.count) else { throw StoredValues.Corruption() }
        let taken = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(count)))
        unsafe bytes.removeFirst(Int(count))
        return unsafe taken
    }
}

import NIOCore

/// Something that bytes can be appended to.
///
/// The writers of this module are generic over it.
protocol ByteSink {
    /// Appends one byte.
    mutating func append(_ byte: UInt8)
    /// Appends bytes.
    mutating func append(_ bytes: ByteView)
}

extension ByteSink {
    /// Appends an ASCII literal.
    mutating func append(_ literal: StaticString) {
        unsafe append(
            ByteView(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
        )
    }

    /// Appends the UTF-8 bytes of a string.
    mutating func append(_ text: String) {
        ByteView.of(text) { append($0) }
    }
}

extension [UInt8]: ByteSink {
    mutating func append(_ bytes: ByteView) {
        unsafe append(contentsOf: bytes.pointer(to: 0..<bytes.count))
    }
}

extension ByteBuffer: ByteSink {
    mutating func append(_ byte: UInt8) {
        writeInteger(byte)
    }

    mutating func append(_ bytes: ByteView) {
        _ = unsafe writeBytes(bytes.pointer(to: 0..<bytes.count))
    }
}

/// Memory of a fixed size that is filled from its start.
///
/// The fast way to write many small pieces whose total is bounded.
@safe struct FixedByteSink {
    private let start: UnsafeMutableRawPointer?
    private let capacity: Int
    /// The number of bytes that have been written.
    private(set) var count = 0

    /// Creates a sink over memory that stays valid while the sink is used.
    @unsafe init(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe start = memory.baseAddress
        capacity = memory.count
    }

    /// Appends one byte.
    mutating func append(_ byte: UInt8) {
        guard let start = unsafe start, count < capacity else {
            preconditionFailure("the sink of \(capacity) bytes is full")
        }
        unsafe start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }
}

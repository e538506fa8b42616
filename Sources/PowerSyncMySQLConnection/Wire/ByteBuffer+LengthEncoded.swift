import NIOCore

/// A length-encoded integer: one byte below 0xFB, or 0xFC and 2 bytes, 0xFD and 3, 0xFE and 8, little endian. 0xFB stands for `NULL` in
/// rows, and 0xFF begins an error.
extension ByteBuffer {
    /// A length-encoded integer; `nil`, and the reader index somewhere, if there is none.
    mutating func readLengthEncodedInteger() -> UInt64? {
        guard let first = readInteger(as: UInt8.self) else { return nil }
        switch first {
        case 0xFC: return readInteger(endianness: .little, as: UInt16.self).map { UInt64($0) }
        case 0xFD:
            guard let low = readInteger(endianness: .little, as: UInt16.self), let high = readInteger(as: UInt8.self)
            else {
                return nil
            }
            return UInt64(low) | UInt64(high) << 16
        case 0xFE: return readInteger(endianness: .little, as: UInt64.self)
        case 0xFB, 0xFF: return nil
        default: return UInt64(first)
        }
    }

    /// Bytes after their length; `nil` if there are fewer.
    mutating func readLengthEncodedSlice() -> ByteBuffer? {
        readLengthEncodedInteger().flatMap { Int(exactly: $0) }.flatMap { readSlice(length: $0) }
    }
}

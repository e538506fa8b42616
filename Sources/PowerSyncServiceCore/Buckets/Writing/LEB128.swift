/// Numbers in as many bytes as they need (LEB128): seven bits a byte, the lowest first; the eighth bit says that more
/// follow.
extension [UInt8] {
    /// Appends a number.
    package mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends a number that is not negative.
    package mutating func append(number: Int) {
        append(number: UInt64(number))
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Takes a number off the beginning.
    package mutating func readNumber() throws(StoredValues.Corruption) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = unsafe popFirst() else { throw StoredValues.Corruption() }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        throw StoredValues.Corruption()
    }

    /// Takes the length of something off the beginning, and then its bytes.
    package mutating func readBytes() throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        try unsafe readBytes(count: try readNumber())
    }

    /// Takes bytes off the beginning.
    package mutating func readBytes(count: UInt64) throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        guard unsafe count <= UInt64(self.count) else { throw StoredValues.Corruption() }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: prefix(Int(count)))
        unsafe removeFirst(Int(count))
        return unsafe bytes
    }
}

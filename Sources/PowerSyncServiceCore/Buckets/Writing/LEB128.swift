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

/// A 32-bit checksum that wraps around on addition and subtraction.
///
/// Checksums of operations add up to the checksum of their bucket, modulo 2^32 (docs/protocol.md "Checksums"). Wire and
/// disk use signed and unsigned forms side by side; both denote the same 32 bits.
///
/// ```swift
/// let sum = Checksum(0xffff_fff0) + Checksum(0x20)
/// print(sum.description)  // 0x00000010
/// ```
package struct Checksum: RawRepresentable, Hashable, Sendable {
    /// The unsigned form, 0 … 2^32 − 1.
    ///
    /// Stored in `ps_buckets`, sent for operations.
    package var rawValue: UInt32

    /// Creates a checksum from its unsigned form.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Creates a checksum from its unsigned form.
    package init(_ rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Creates a checksum from the low 32 bits of an integer, signed or unsigned.
    package init(truncating value: Int64) {
        self.init(UInt32(truncatingIfNeeded: value))
    }

    /// Creates a checksum from a signed or unsigned 32-bit integer.
    ///
    /// `nil` when `value` is below −2^31 or above 2^32 − 1.
    package init?(exactly value: Int64) {
        guard value >= Int64(Int32.min), value <= Int64(UInt32.max) else { return nil }
        self.init(truncating: value)
    }

    /// The checksum of nothing.
    package static let zero = Checksum(0)

    /// The signed form, −2^31 … 2^31 − 1.
    ///
    /// Stored in `ps_oplog.hash`, sent for buckets.
    package var signed: Int32 { Int32(bitPattern: rawValue) }

    package static func + (lhs: Checksum, rhs: Checksum) -> Checksum {
        Checksum(lhs.rawValue &+ rhs.rawValue)
    }

    package static func - (lhs: Checksum, rhs: Checksum) -> Checksum {
        Checksum(lhs.rawValue &- rhs.rawValue)
    }

    package static func += (lhs: inout Checksum, rhs: Checksum) {
        lhs.rawValue &+= rhs.rawValue
    }

    package static func -= (lhs: inout Checksum, rhs: Checksum) {
        lhs.rawValue &-= rhs.rawValue
    }
}

extension Checksum: CustomStringConvertible {
    /// `0x` and eight lower-case hexadecimal digits.
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}

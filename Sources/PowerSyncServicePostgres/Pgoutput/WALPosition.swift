package import PowerSyncServiceCore

/// A position in the write-ahead log of a PostgreSQL server: a number of bytes.
///
/// PostgreSQL writes it as two hexadecimal numbers without leading zeros; the storage keeps them padded, so that the order of
/// texts is the order of the log.
///
/// ```swift
/// let position = WALPosition("16/B374D848")
/// position?.description  // 16/B374D848
/// position?.lsn          // 00000016/B374D848
/// ```
package struct WALPosition: RawRepresentable, Hashable, Sendable {
    /// The number of bytes since the log began; 0 stands for none.
    package let rawValue: UInt64

    /// Creates a position from its number.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Creates a position from `16/B374D848`, padded or not; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let high = Self.half(parts[0]), let low = Self.half(parts[1]) else { return nil }
        rawValue = UInt64(high) << 32 | UInt64(low)
    }

    /// Creates a position from its form in the storage, with a mark (``MarkedPosition``) or without; `nil` when another source wrote it.
    package init?(_ lsn: LSN) {
        self.init(lsn.rawValue.prefix { $0 != MarkedPosition.separator })
    }

    /// The form in the storage: `00000016/B374D848`.
    package var lsn: LSN {
        LSN("\(Self.padded(rawValue >> 32))/\(Self.padded(rawValue & 0xffff_ffff))")
    }

    private static func half(_ digits: some StringProtocol) -> UInt32? {
        // `UInt32(_:radix:)` takes a sign, too.
        guard (1...8).contains(digits.utf8.count), digits.utf8.first != UInt8(ascii: "+") else { return nil }
        return UInt32(digits, radix: 16)
    }

    private static func padded(_ half: UInt64) -> String {
        let digits = String(half, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}

extension WALPosition: Comparable {
    package static func < (lhs: WALPosition, rhs: WALPosition) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension WALPosition: CustomStringConvertible {
    package var description: String {
        "\(String(rawValue >> 32, radix: 16, uppercase: true))/\(String(rawValue & 0xffff_ffff, radix: 16, uppercase: true))"
    }
}

/// The position of an operation in a service's history.
///
/// Op ids are positive 64-bit integers, global to one service and strictly increasing inside a bucket. On the wire
/// they are base-10 strings (`"42"`); everywhere else they are integers. They never pass through a floating-point type.
///
/// ```swift
/// let id = OpID(decimal: "9007199254740993")
/// print(id.rawValue)  // 9007199254740993
/// ```
package struct OpID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The integer value, 0 … 2^63 − 1.
    package let rawValue: Int64

    /// Creates an op id from its integer value.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates an op id from its integer value.
    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The position before the first operation.
    package static let zero = OpID(0)

    /// The largest op id, used as "not known yet" by the local write gate.
    package static let max = OpID(.max)

    package static func < (lhs: OpID, rhs: OpID) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension OpID {
    /// Creates an op id from its wire form.
    ///
    /// `nil` when `text` is empty, holds anything else than digits, or exceeds 2^63 − 1.
    ///
    /// - Parameter text: Decimal digits, without sign or white space.
    package init?(decimal text: some StringProtocol) {
        self.init(decimalUTF8: text.utf8)
    }

    /// Creates an op id from the UTF-8 bytes of its wire form.
    ///
    /// `nil` under the conditions of ``init(decimal:)``.
    ///
    /// - Parameter bytes: ASCII digits.
    package init?(decimalUTF8 bytes: some Sequence<UInt8>) {
        var value: Int64 = 0
        var isEmpty = true
        for byte in bytes {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (scaled, scaleOverflow) = value.multipliedReportingOverflow(by: 10)
            let (next, addOverflow) = scaled.addingReportingOverflow(Int64(byte &- UInt8(ascii: "0")))
            guard !scaleOverflow, !addOverflow else { return nil }
            value = next
            isEmpty = false
        }
        guard !isEmpty else { return nil }
        self.init(value)
    }
}

extension OpID: CustomStringConvertible {
    /// The wire form: decimal digits.
    package var description: String { String(rawValue) }
}

/// The number that ties a client's uploads to a later checkpoint.
///
/// A service hands out write checkpoints per user and client, and repeats the newest one that a
/// checkpoint covers in its `write_checkpoint` member. On the wire they are base-10 strings.
package struct WriteCheckpoint: RawRepresentable, Hashable, Comparable, Sendable {
    /// The integer value, 0 … 2^63 − 1.
    package let rawValue: Int64

    /// Creates a write checkpoint from its integer value.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates a write checkpoint from its integer value.
    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates a write checkpoint from its wire form.
    ///
    /// `nil` when `text` is not a number between 0 and 2^63 − 1.
    ///
    /// - Parameter text: Decimal digits.
    package init?(decimal text: some StringProtocol) {
        guard let id = OpID(decimal: text) else { return nil }
        self.init(id.rawValue)
    }

    package static func < (lhs: WriteCheckpoint, rhs: WriteCheckpoint) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension WriteCheckpoint: CustomStringConvertible {
    /// The wire form: decimal digits.
    package var description: String { String(rawValue) }
}

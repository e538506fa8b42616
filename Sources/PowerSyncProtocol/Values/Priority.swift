/// The priority of a bucket, a stream or a partial checkpoint.
///
/// Numbers run from 0 (highest) to 3 (lowest, default); larger numbers are accepted from services. A lower *number* is
/// a *higher* priority, so this type offers ``includes(_:)`` and ``isHigher(than:)`` instead of `<`.
package struct Priority: RawRepresentable, Hashable, Sendable {
    /// The number on the wire and on disk.
    package let rawValue: Int32

    /// Creates a priority from its number.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Creates a priority from its number.
    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Priority 0: published even while local writes wait for their upload.
    package static let highest = Priority(0)

    /// Priority 3, used when nothing else is said.
    package static let `default` = Priority(3)

    /// The sentinel 2147483647 that stands for a complete checkpoint in `ps_sync_state`.
    ///
    /// Never on the wire.
    package static let complete = Priority(.max)

    /// Whether a checkpoint of this priority covers a bucket of the other one.
    package func includes(_ other: Priority) -> Bool {
        other.rawValue <= rawValue
    }

    /// Whether this priority is more urgent than the other one.
    package func isHigher(than other: Priority) -> Bool {
        rawValue < other.rawValue
    }
}

extension Priority: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

import NIOCore
package import PowerSyncProtocol

/// The values of a row as the server sends them, in the order of the relation's columns.
///
/// ```
/// int16 count, and for each column a byte and what it says:
///   n   NULL
///   u   not sent: a large value that the change left as it was
///   t   int32 length, the text of the value
/// ```
///
/// The bytes stay where the connection has put them: a column that no stream reads costs a few instructions.
package struct PgoutputTuple: Sendable, Hashable {
    /// One value.
    package enum Column {
        /// NULL. In a tuple of the kind `K` (``PgoutputMessage/OldTuple/key(_:)``), all columns that are not part of the
        /// replica identity are NULL, too.
        case null
        /// Not sent: a large value that the change left as it was.
        case unchanged
        /// The text of the value. The view is valid while the closure runs.
        case text(ByteView)
    }

    /// What the first byte of a column says.
    enum Kind: UInt8 {
        case null = 0x6e
        case unchanged = 0x75
        case text = 0x74
    }

    /// The number of columns.
    package let count: Int
    /// Whether values are missing because the change left them as they were.
    package let hasUnchanged: Bool
    private let bytes: ByteBuffer

    /// Creates a tuple of bytes that have been walked through.
    init(checked bytes: ByteBuffer, count: Int, hasUnchanged: Bool) {
        self.bytes = bytes
        self.count = count
        self.hasUnchanged = hasUnchanged
    }

    /// Calls `body` with each column and its position, from 0 on.
    ///
    /// - Complexity: O(number of columns).
    package func forEachColumn<Failure: Error>(
        _ body: (Int, Column) throws(Failure) -> Void
    ) throws(Failure) {
        try bytes.withByteView { (view: ByteView) throws(Failure) in
            var offset = 0
            for position in 0..<count {
                let kind = Kind(rawValue: view[offset])
                offset += 1
                switch kind {
                case .null: try body(position, .null)
                case .unchanged: try body(position, .unchanged)
                case .text:
                    let length = Int(view.littleEndian(at: offset, as: UInt32.self).byteSwapped)
                    offset += 4
                    try body(position, .text(view[offset..<offset + length]))
                    offset += length
                case nil: preconditionFailure("column \(position) of a checked tuple is of no kind")
                }
            }
        }
    }
}

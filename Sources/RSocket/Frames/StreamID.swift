/// The number of a stream within its connection: 31 bits; 0 is the connection itself.
///
/// The side that opened the connection takes the odd numbers, 1, 3, 5, …; the even ones belong to the other side, which
/// opens no streams in the sync protocol. A number is used once.
package struct StreamID: Sendable, Hashable {
    /// The connection itself: SETUP, KEEPALIVE and errors that end everything.
    package static let connection = StreamID(unchecked: 0)
    /// The first stream of the requester.
    package static let first = StreamID(unchecked: 1)

    /// The number, at most 2^31 - 1.
    package let rawValue: UInt32

    /// Creates an id.
    ///
    /// - Returns: `nil` when the number has more than 31 bits.
    package init?(rawValue: UInt32) {
        guard rawValue >> 31 == 0 else { return nil }
        self.rawValue = rawValue
    }

    private init(unchecked rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Whether it is for streams of the side that opened the connection.
    package var isOpenedByRequester: Bool { !rawValue.isMultiple(of: 2) }

    /// The requester's id after this one; `nil` when there is none.
    var next: StreamID? { StreamID(rawValue: rawValue + 2) }
}

extension StreamID: Comparable {
    package static func < (lhs: StreamID, rhs: StreamID) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension StreamID: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

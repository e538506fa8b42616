/// The code of an ERROR frame.
///
/// Up to ``connectionClose`` on stream 0, from ``applicationError`` on for one stream.
package struct RSocketErrorCode: RawRepresentable, Sendable, Hashable {
    /// The SETUP breaks a rule of RSocket.
    package static let invalidSetup = RSocketErrorCode(rawValue: 0x001)
    /// The SETUP asks for what the responder does not have, or is missing.
    package static let unsupportedSetup = RSocketErrorCode(rawValue: 0x002)
    /// The responder does not want this requester.
    package static let rejectedSetup = RSocketErrorCode(rawValue: 0x003)
    /// The connection cannot be resumed.
    package static let rejectedResume = RSocketErrorCode(rawValue: 0x004)
    /// The connection is broken; all streams end.
    package static let connectionError = RSocketErrorCode(rawValue: 0x101)
    /// The connection is going to be closed.
    package static let connectionClose = RSocketErrorCode(rawValue: 0x102)
    /// The application on the other side failed.
    package static let applicationError = RSocketErrorCode(rawValue: 0x201)
    /// The request was not processed, and may be repeated safely.
    package static let rejected = RSocketErrorCode(rawValue: 0x202)
    /// The responder has given up the stream.
    package static let canceled = RSocketErrorCode(rawValue: 0x203)
    /// The request is invalid.
    package static let invalid = RSocketErrorCode(rawValue: 0x204)

    /// The number on the wire.
    package let rawValue: UInt32

    /// Creates a code from its number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

extension RSocketErrorCode: CustomStringConvertible {
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return "0x" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }
}

/// Why a connection ended before its time, or a request could not be sent.
package enum RSocketError: Error, Sendable, Hashable {
    /// A message is not a frame, or a request does not fit into one.
    case malformedFrame(FrameError)
    /// The peer broke a rule.
    case violation(ProtocolViolation)
    /// The peer ended the connection with an ERROR frame; a requester sees here that its SETUP was rejected.
    case endedByPeer(RSocketErrorCode, message: String)
    /// This side refused the SETUP.
    case setupRejected(RSocketErrorCode, message: String)
    /// No SETUP came in time.
    case setupTimeout
    /// The peer has been silent for too long.
    case peerSilent
    /// The connection is closed already.
    case connectionClosed
    /// All stream ids of the connection have been used.
    case streamIDsExhausted
}

extension RSocketError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedFrame(let error): error.description
        case .violation(let violation): violation.description
        case .endedByPeer(let code, let message): "the peer ended the connection with error \(code): \(message)"
        case .setupRejected(let code, let message): "SETUP was rejected with error \(code): \(message)"
        case .setupTimeout: "no SETUP came in time"
        case .peerSilent: "the peer has been silent for too long"
        case .connectionClosed: "the connection is closed"
        case .streamIDsExhausted: "all stream ids of the connection have been used"
        }
    }
}

/// How to end a connection: send the last frame, close the socket, and end what still runs.
///
/// The state machine that returns this has forgotten its streams, and accepts no more of them.
package struct ConnectionClosure: Sendable, Hashable {
    /// Why.
    package let reason: RSocketError
    /// What the peer is told before the socket closes; `nil` when it closes without a word.
    package let lastFrame: Frame?
    /// The streams that were open, in ascending order; all of them fail with the reason.
    package let streams: [StreamID]
}

extension ConnectionClosure {
    /// The closure after a mistake of the peer, which is told about it.
    static func violation(_ violation: ProtocolViolation, prefix: String, streams: [StreamID]) -> ConnectionClosure {
        ConnectionClosure(
            reason: .violation(violation),
            lastFrame: .connectionError(.connectionError, prefix + violation.description),
            streams: streams
        )
    }

    /// The closure after a message that is not a frame.
    static func malformedFrame(_ error: FrameError, prefix: String, streams: [StreamID]) -> ConnectionClosure {
        ConnectionClosure(
            reason: .malformedFrame(error),
            lastFrame: .connectionError(.connectionError, prefix + error.description),
            streams: streams
        )
    }

    /// The closure after an ERROR frame for the connection.
    static func endedByPeer(_ error: ErrorFrame, streams: [StreamID]) -> ConnectionClosure {
        ConnectionClosure(reason: .endedByPeer(error.code, message: error.message), lastFrame: nil, streams: streams)
    }
}

extension Frame {
    /// An ERROR that ends the connection.
    static func connectionError(_ code: RSocketErrorCode, _ message: String) -> Frame {
        .error(ErrorFrame(streamID: .connection, code: code, message: message))
    }
}

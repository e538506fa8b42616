/// A payload of a stream, the end of the stream, or both; or a fragment of a request or payload.
package struct PayloadFrame: Sendable, Hashable {
    /// The stream.
    package var streamID: StreamID
    /// Whether there is a payload; without it, ``payload`` is empty as a rule.
    package var isNext: Bool
    /// Whether the stream ends after this frame.
    package var isComplete: Bool
    /// Whether the payload goes on in another frame.
    package var hasMoreFragments: Bool
    /// The payload, or a fragment of it.
    package var payload: Payload

    /// Creates a frame with all its flags.
    package init(
        streamID: StreamID,
        isNext: Bool,
        isComplete: Bool,
        hasMoreFragments: Bool = false,
        payload: Payload
    ) {
        self.streamID = streamID
        self.isNext = isNext
        self.isComplete = isComplete
        self.hasMoreFragments = hasMoreFragments
        self.payload = payload
    }

    /// A whole payload; the stream goes on.
    package static func next(_ payload: Payload, on streamID: StreamID) -> PayloadFrame {
        PayloadFrame(streamID: streamID, isNext: true, isComplete: false, payload: payload)
    }

    /// The end of the stream.
    package static func complete(_ streamID: StreamID) -> PayloadFrame {
        PayloadFrame(streamID: streamID, isNext: false, isComplete: true, payload: Payload())
    }
}

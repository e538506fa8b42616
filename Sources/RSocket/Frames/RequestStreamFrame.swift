/// Opens a stream: one request, many payloads as the answer.
package struct RequestStreamFrame: Sendable, Hashable {
    /// The new stream.
    package var streamID: StreamID
    /// How many payloads the responder may send before it must wait for a REQUEST_N.
    package var initialRequestN: RequestN
    /// The request, or its first fragment.
    package var payload: Payload
    /// Whether the request goes on in a PAYLOAD frame.
    package var hasMoreFragments: Bool

    /// Creates a request.
    package init(
        streamID: StreamID,
        initialRequestN: RequestN,
        payload: Payload,
        hasMoreFragments: Bool = false
    ) {
        self.streamID = streamID
        self.initialRequestN = initialRequestN
        self.payload = payload
        self.hasMoreFragments = hasMoreFragments
    }
}

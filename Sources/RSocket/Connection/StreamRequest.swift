/// A request for a stream, complete, and on a connection whose SETUP was accepted.
package struct StreamRequest: Sendable, Hashable {
    /// The stream.
    package let streamID: StreamID
    /// What is requested.
    package let payload: Payload
}

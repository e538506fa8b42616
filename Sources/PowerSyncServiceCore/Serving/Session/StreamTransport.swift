/// The transport of a sync stream.
package enum StreamTransport: String, Sendable, CaseIterable {
    /// The body of an HTTP response.
    case http
    /// RSocket over WebSocket.
    case webSocket = "websocket"

    /// Whether a line is copied before it is written, into its frame: over HTTP it is only copied a part at a time.
    var copiesLines: Bool { self == .webSocket }
}

package import NIOWebSocket

/// What a peer has done that ends a WebSocket connection.
package enum WebSocketFailure: Error, Hashable, CustomStringConvertible {
    /// It has sent a frame that is against the rules (RFC 6455, 5.2 to 5.5).
    case protocolError
    /// It has sent a message of more bytes than are accepted.
    case messageTooLong(limit: Int)

    /// The code of the close frame that it gets.
    package var code: WebSocketErrorCode {
        switch self {
        case .protocolError: .protocolError
        case .messageTooLong: .messageTooLarge
        }
    }

    /// What is wrong, for people.
    package var description: String {
        switch self {
        case .protocolError: "a WebSocket frame is against the rules"
        case .messageTooLong(let limit): "a WebSocket message has more than \(limit) bytes"
        }
    }
}

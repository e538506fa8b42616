package import Logging
package import NIOCore

/// Upgrades a connection after a valid WebSocket handshake.
package struct WebSocketUpgrade<Connection: Sendable>: Sendable {
    /// The answer to a handshake.
    package struct Acceptance {
        /// The value of `Sec-WebSocket-Extensions` in the answer; `nil` for none.
        package var extensions: String?
        /// Puts the handlers of the WebSocket in the place of the codec (``HTTPConnectionCodec/replace(with:_:)``), on
        /// the event loop, when 101 has been written.
        package var setUp: (ChannelHandlerContext, HTTPConnectionCodec) throws -> Connection

        /// Creates an answer.
        package init(
            extensions: String?,
            setUp: @escaping (ChannelHandlerContext, HTTPConnectionCodec) throws -> Connection
        ) {
            self.extensions = extensions
            self.setUp = setUp
        }
    }

    /// Accepts a handshake; it gets the extensions that the client offers, as one list.
    package var accept: @Sendable (_ offeredExtensions: String) -> Acceptance
    /// Uses the WebSocket until the connection ends.
    package var serve: @Sendable (Connection, Logger) async -> Void

    /// Creates an upgrade.
    package init(
        accept: @escaping @Sendable (_ offeredExtensions: String) -> Acceptance,
        serve: @escaping @Sendable (Connection, Logger) async -> Void
    ) {
        self.accept = accept
        self.serve = serve
    }
}

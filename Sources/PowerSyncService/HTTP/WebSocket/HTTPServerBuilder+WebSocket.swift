import Foundation
import HummingbirdCore
import Logging
import RSocket

extension HTTPServerBuilder {
    /// Builds a server for HTTP/1 that also takes sync streams over WebSocket.
    ///
    /// - Parameters:
    ///   - routes: Has what streams need.
    ///   - webSockets: Slots of WebSocket connections; more are rejected.
    /// - Returns: What makes the server.
    static func http1(upgradingTo routes: ServiceRoutes, webSockets: ConcurrencyQueue) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            var configuration = ResponderConnection.Configuration()
            configuration.errorPrefix = "[PSYNC_S2001] "
            return UpgradableHTTPChannel(responder: responder, configuration: configuration) {
                channel,
                handle,
                logger in
                var logger = logger
                logger[metadataKey: "rid"] = "s/\(UUID().uuidString.lowercased())"
                let session = WebSocketSession(
                    tokens: routes.tokens,
                    sessions: routes.sessions,
                    connections: webSockets,
                    connection: handle,
                    logger: logger
                )
                await session.run(channel)
            }
        }
    }
}

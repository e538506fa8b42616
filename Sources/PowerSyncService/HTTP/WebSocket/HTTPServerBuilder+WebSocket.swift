import Foundation
import HTTPConnections
import HummingbirdCore
import Logging
import PowerSyncServiceCore

extension HTTPServerBuilder {
    /// Builds a server for HTTP/1 that also takes sync streams over WebSocket.
    ///
    /// - Parameters:
    ///   - routes: Has what streams need.
    ///   - webSockets: Slots of WebSocket connections; more are rejected.
    ///   - limits: What a connection may take.
    ///   - certificate: With what connections are encrypted, if they are.
    /// - Returns: What makes the server.
    static func http1(
        upgradingTo routes: ServiceRoutes,
        webSockets: ConcurrencyQueue,
        limits: HTTPConnectionLimits,
        certificate: ServerCertificate?
    ) -> HTTPServerBuilder {
        let upgrade = WebSocketConnection.upgrade(limits: limits) { connection, logger in
            var logger = logger
            logger[metadataKey: LogKey.requestID] = "s/\(UUID().uuidString.lowercased())"
            let session = WebSocketSession(
                tokens: routes.tokens,
                sessions: routes.sessions,
                connections: webSockets,
                connection: connection.handle,
                logger: logger
            )
            await session.run(connection)
        }
        let tls = certificate?.contexts
        return HTTPServerBuilder { responder in
            UpgradableHTTPChannel(
                responder: responder,
                limits: limits,
                tls: tls,
                answer: HTTPRefusal.envelopes(countedBy: .shared),
                didCompress: { ClientStreamStatistics.didSend(byteCount: $0) },
                upgrade: upgrade
            )
        }
    }
}

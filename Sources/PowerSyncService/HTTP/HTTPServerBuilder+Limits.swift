import HTTPConnections
import HummingbirdCore

extension HTTPServerBuilder {
    /// Builds a server for HTTP/1, without TLS.
    ///
    /// - Parameter limits: What a connection may take.
    /// - Returns: What makes the server.
    static func http1(limits: HTTPConnectionLimits) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            UpgradableHTTPChannel<Never>(
                responder: responder,
                limits: limits,
                answer: HTTPRefusal.envelope,
                upgrade: nil
            )
        }
    }
}

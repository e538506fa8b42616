package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
package import NIOSSL

/// Connections that speak HTTP/1 as Hummingbird does it, until one of their requests makes a WebSocket of them.
///
/// The pipeline of a connection:
///
/// | handler | what it does |
/// | --- | --- |
/// | `NIOSSLServerHandler` | TLS, if there is any |
/// | ``DepartureHandler``, ``DeliveryHandler`` | detect that the client has left, and that the network has taken what was written |
/// | ``HTTPConnectionCodec`` | bytes and parts of requests |
/// | ``HTTPConnectionHandler`` | time-outs, refusals, the handshake |
/// | ``ResponseCompressionHandler`` | gzip, for responses that ask for it |
/// | those of Hummingbird | requests and responses for its router |
package struct UpgradableHTTPChannel<WebSocket: Sendable>: ServerChildChannel {
    /// A connection.
    package struct Value: ServerChildChannelValue {
        /// The parts of a connection that is served; `nil` for one that is refused.
        let served: Served?
        package let channel: any Channel
    }

    /// A connection that is served.
    struct Served: Sendable {
        /// The requests and responses.
        let http: HTTP1Channel.Value
        /// Known when a request has asked for it; `nil` when the connection has ended before.
        let webSocket: EventLoopFuture<WebSocket?>
    }

    private let http: HTTP1Channel
    private let limits: HTTPConnectionLimits
    private let tls: (@Sendable () -> NIOSSLContext)?
    private let count: ConnectionCount
    private let answer: @Sendable (HTTPRefusal) -> HTTPRefusal.Answer
    private let didCompress: @Sendable (_ byteCount: Int) -> Void
    private let upgrade: WebSocketUpgrade<WebSocket>?

    /// Creates the set-up of connections.
    ///
    /// - Parameters:
    ///   - responder: Answers HTTP requests.
    ///   - limits: Time, memory and number of connections.
    ///   - tls: The context for a connection that begins; `nil` for connections without TLS.
    ///   - answer: Makes the body of a refusal; plain text by default. Called once for each refusal, on the event loop
    ///     of its connection.
    ///   - didCompress: Called on the event loop with the length of each compressed part of a response body, when that
    ///     is written.
    ///   - upgrade: What becomes of WebSocket handshakes; `nil` when a request for one is answered by its route.
    package init(
        responder: @escaping HTTPChannelHandler.Responder,
        limits: HTTPConnectionLimits,
        tls: (@Sendable () -> NIOSSLContext)? = nil,
        answer: @escaping @Sendable (HTTPRefusal) -> HTTPRefusal.Answer = \.plainText,
        didCompress: @escaping @Sendable (_ byteCount: Int) -> Void = { _ in },
        upgrade: WebSocketUpgrade<WebSocket>?
    ) {
        http = HTTP1Channel(responder: responder)
        self.limits = limits
        self.tls = tls
        self.answer = answer
        self.didCompress = didCompress
        self.upgrade = upgrade
        count = ConnectionCount(limit: limits.connectionCount)
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let admission = count.began()
        channel.closeFuture.whenComplete { _ in count.ended(admission) }
        return channel.eventLoop.makeCompletedFuture {
            SilentPeerLimits.apply(to: channel)
            if let context = tls?() {
                // A connection keeps the certificate with which it has begun.
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            try channel.pipeline.syncOperations.addHandlers([
                DepartureHandler(on: channel.eventLoop), DeliveryHandler(),
            ])
            switch admission {
            case .admitted:
                return Value(served: try setUp(channel, logger), channel: channel)
            case .refused(let isFirst):
                if isFirst {
                    logger.warning(
                        "Connections refused, there are too many",
                        metadata: ["limit": .stringConvertible(count.limit)]
                    )
                }
                try RefusedConnectionHandler.add(
                    to: channel,
                    answer: answer(.tooManyConnections),
                    closingTime: TimeAmount(limits.closingTime)
                )
            case .dropped:
                try RefusedConnectionHandler.add(to: channel, answer: nil, closingTime: .zero)
            }
            return Value(served: nil, channel: channel)
        }
    }

    private func setUp(_ channel: any Channel, _ logger: Logger) throws -> Served {
        let pipeline = channel.pipeline.syncOperations
        let webSocket = channel.eventLoop.makePromise(of: WebSocket?.self)
        channel.closeFuture.whenComplete { _ in webSocket.succeed(nil) }
        let connection = HTTPConnectionHandler(
            limits: limits,
            codec: try HTTPConnectionCodec(limits, addingTo: pipeline),
            logger: logger,
            answer: answer,
            upgrade: upgrade.map { upgrade in
                { extensions in
                    let acceptance = upgrade.accept(extensions)
                    return WebSocketUpgrade<Void>.Acceptance(extensions: acceptance.extensions) { context, codec in
                        webSocket.succeed(try acceptance.setUp(context, codec))
                    }
                }
            }
        )
        try pipeline.addHandlers([
            connection, ResponseCompressionHandler(didCompress: didCompress),
            HTTP1ToHTTPServerCodec(secure: tls != nil),
        ])
        let http = try HTTP1Channel.Value(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
        return Served(http: http, webSocket: webSocket.futureResult)
    }

    package func handle(value: Value, logger: Logger) async {
        guard let served = value.served else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { await http.handle(value: served.http, logger: logger) }
            guard let upgrade, let connection = try? await served.webSocket.get() else { return }
            await upgrade.serve(connection, logger)
        }
    }
}

import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOWebSocket
import PowerSyncProtocol
import RSocket

/// Connections that speak HTTP/1 as Hummingbird does it, until one of their requests makes a WebSocket of them.
struct UpgradableHTTPChannel: ServerChildChannel {
    /// A connection.
    struct Value: ServerChildChannelValue {
        /// What is served; `nil` for a connection that is refused.
        let served: Served?
        let channel: any Channel
    }

    /// A connection that is served.
    struct Served: Sendable {
        /// The requests and responses.
        let http: HTTP1Channel.Value
        /// Known when a request has asked for it; `nil` when the connection has ended before.
        let webSocket: EventLoopFuture<WebSocketConnection?>
    }

    private let http: HTTP1Channel
    private let limits: HTTPConnectionLimits
    private let certificate: ServerCertificate?
    private let count: ConnectionCount
    private var configuration = ResponderConnection.Configuration()
    private let serve: (@Sendable (WebSocketConnection, Logger) async -> Void)?

    /// Creates the set-up of connections.
    ///
    /// - Parameters:
    ///   - responder: Answers HTTP requests.
    ///   - limits: What a connection may take.
    ///   - certificate: With what connections are encrypted, if they are.
    ///   - serve: Answers requests over WebSocket, until the connection ends; `nil` when there are none.
    init(
        responder: @escaping HTTPChannelHandler.Responder,
        limits: HTTPConnectionLimits,
        certificate: ServerCertificate?,
        serve: (@Sendable (WebSocketConnection, Logger) async -> Void)? = nil
    ) {
        http = HTTP1Channel(responder: responder)
        self.limits = limits
        self.certificate = certificate
        count = ConnectionCount(limit: limits.connectionCount)
        configuration.errorPrefix = "[\(ErrorCode.generic)] "
        configuration.setupTimeout = limits.headTime
        self.serve = serve
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let admission = count.began()
        channel.closeFuture.whenComplete { _ in count.ended(admission) }
        return channel.eventLoop.makeCompletedFuture {
            SilentPeerLimits.apply(to: channel)
            if let context = certificate?.current.context {
                // Whoever has begun with another certificate goes on with it.
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
                        metadata: ["limit": "\(count.limit)"]
                    )
                }
                try RefusedConnectionHandler.add(to: channel, closingTime: TimeAmount(limits.closingTime))
            case .dropped:
                try RefusedConnectionHandler.add(to: channel, closingTime: nil)
            }
            return Value(served: nil, channel: channel)
        }
    }

    private func setUp(_ channel: any Channel, _ logger: Logger) throws -> Served {
        let pipeline = channel.pipeline.syncOperations
        let webSocket = channel.eventLoop.makePromise(of: WebSocketConnection?.self)
        channel.closeFuture.whenComplete { _ in webSocket.succeed(nil) }
        let connection = HTTPConnectionHandler(
            limits: limits,
            codec: try HTTPConnectionCodec(limits, addingTo: pipeline),
            logger: logger,
            upgrade: serve == nil
                ? nil
                : { context, codec, compression in
                    webSocket.succeed(try setUpWebSocket(context, codec, compression))
                }
        )
        try pipeline.addHandlers([
            connection, ResponseCompressionHandler(), HTTP1ToHTTPServerCodec(secure: certificate != nil),
        ])
        let http = try HTTP1Channel.Value(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
        return Served(http: http, webSocket: webSocket.futureResult)
    }

    private func setUpWebSocket(
        _ context: ChannelHandlerContext,
        _ codec: HTTPConnectionCodec,
        _ compression: MessageCompression?
    ) throws -> WebSocketConnection {
        let responder = ResponderHandler(configuration, openedAt: context.eventLoop.now)
        let events = ResponderEventHandler()
        let maximumLength = configuration.limits.maximumFrameLength
        let connection = WebSocketConnection(
            events: events.makeEvents(context.eventLoop),
            handle: ResponderHandle(responder, eventLoop: context.eventLoop),
            channel: context.channel
        )
        try codec.replace(
            with: [
                SetupLengthHandler(limit: limits.strangerLength), WebSocketFrameEncoder(),
                ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: maximumLength)),
                WebSocketProtocolErrorHandler(), SetupGateHandler(), SentMessageHandler(),
                WebSocketMessageHandler(
                    role: .service,
                    maximumMessageLength: maximumLength,
                    maximumFirstLength: limits.strangerLength,
                    compression: compression
                ),
                responder, events,
            ],
            context.pipeline.syncOperations
        )
        return connection
    }

    func handle(value: Value, logger: Logger) async {
        guard let served = value.served else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { await http.handle(value: served.http, logger: logger) }
            guard let serve, let connection = try? await served.webSocket.get() else { return }
            await serve(connection, logger)
        }
    }
}

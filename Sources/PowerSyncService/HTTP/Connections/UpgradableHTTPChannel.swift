import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket
import RSocket

/// Connections that speak HTTP/1 as Hummingbird does it, until one of their requests makes a WebSocket of them.
struct UpgradableHTTPChannel: ServerChildChannel {
    /// A connection.
    struct Value: ServerChildChannelValue {
        /// The requests and responses.
        let http: HTTP1Channel.Value
        /// Known when a request has asked for it; `nil` when the connection has ended before.
        let webSocket: EventLoopFuture<WebSocketConnection?>

        var channel: any Channel { http.channel }
    }

    private let http: HTTP1Channel
    private let limits: HTTPConnectionLimits
    private let configuration: ResponderConnection.Configuration
    private let serve: @Sendable (WebSocketConnection, Logger) async -> Void

    /// Creates the set-up of connections.
    ///
    /// - Parameters:
    ///   - responder: Answers HTTP requests.
    ///   - limits: What a connection may take.
    ///   - configuration: How WebSocket connections are treated.
    ///   - serve: Answers requests over WebSocket, until the connection ends.
    init(
        responder: @escaping HTTPChannelHandler.Responder,
        limits: HTTPConnectionLimits,
        configuration: ResponderConnection.Configuration,
        serve: @escaping @Sendable (WebSocketConnection, Logger) async -> Void
    ) {
        http = HTTP1Channel(responder: responder)
        self.limits = limits
        self.configuration = configuration
        self.serve = serve
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            SilentPeerLimits.apply(to: channel)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(DepartureHandler(on: channel.eventLoop))
            let webSocket = channel.eventLoop.makePromise(of: WebSocketConnection?.self)
            channel.closeFuture.whenComplete { _ in webSocket.succeed(nil) }
            let connection = HTTPConnectionHandler(
                limits: limits,
                codec: try HTTPConnectionCodec(limits, addingTo: pipeline),
                logger: logger
            ) { context, codec in
                webSocket.succeed(try setUpWebSocket(context, codec))
            }
            try pipeline.addHandlers([
                connection, ResponseCompressionHandler(), HTTP1ToHTTPServerCodec(secure: false),
            ])
            let http = try HTTP1Channel.Value(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
            return Value(http: http, webSocket: webSocket.futureResult)
        }
    }

    private func setUpWebSocket(
        _ context: ChannelHandlerContext,
        _ codec: HTTPConnectionCodec
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
                WebSocketFrameEncoder(), ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: maximumLength)),
                WebSocketProtocolErrorHandler(),
                WebSocketMessageHandler(role: .service, maximumMessageLength: maximumLength), responder, events,
            ],
            context.pipeline.syncOperations
        )
        return connection
    }

    func handle(value: Value, logger: Logger) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await http.handle(value: value.http, logger: logger) }
            guard let connection = try? await value.webSocket.get() else { return }
            await serve(connection, logger)
        }
    }
}

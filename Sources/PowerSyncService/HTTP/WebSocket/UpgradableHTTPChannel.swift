import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket
import RSocket

/// A connection whose first request decides what it speaks: WebSocket after an upgrade, on any path, or else HTTP/1 as
/// Hummingbird does it.
struct UpgradableHTTPChannel: ServerChildChannel {
    /// What a connection speaks.
    enum Dialect: Sendable {
        case http(HTTP1Channel.Value)
        case webSocket(NIOAsyncChannel<ResponderEvent, Never>, ResponderHandle)
    }

    /// A connection.
    struct Value: ServerChildChannelValue {
        /// Known when the first request has arrived.
        let dialect: EventLoopFuture<Dialect>
        let channel: any Channel
    }

    private let http: HTTP1Channel
    private let configuration: ResponderConnection.Configuration
    private let serve: @Sendable (NIOAsyncChannel<ResponderEvent, Never>, ResponderHandle, Logger) async -> Void

    /// Creates the set-up of connections.
    ///
    /// - Parameters:
    ///   - responder: Answers HTTP requests.
    ///   - configuration: How WebSocket connections are treated.
    ///   - serve: Answers requests over WebSocket, until the connection ends.
    init(
        responder: @escaping HTTPChannelHandler.Responder,
        configuration: ResponderConnection.Configuration,
        serve: @escaping @Sendable (NIOAsyncChannel<ResponderEvent, Never>, ResponderHandle, Logger) async -> Void
    ) {
        http = HTTP1Channel(responder: responder)
        self.configuration = configuration
        self.serve = serve
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let upgrader = NIOTypedWebSocketServerUpgrader<Dialect>(
                maxFrameSize: configuration.limits.maximumFrameLength,
                shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture { try setUpWebSocket(channel) }
                }
            )
            var pipeline = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture { try setUpHTTP(channel, logger) }
                    }
                )
            )
            // As in Hummingbird: it pipelines itself, and its headers are valid.
            pipeline.enablePipelining = false
            pipeline.enableErrorHandling = false
            pipeline.enableResponseHeaderValidation = false
            pipeline.decoderConfiguration.maxHeaderFieldSize = http.configuration.httpDecoder.maxHeaderFieldSize
            pipeline.decoderConfiguration.maxHeaderListSize = http.configuration.httpDecoder.maxHeaderListSize
            pipeline.decoderConfiguration.maxHeaderFieldCount = http.configuration.httpDecoder.maxHeaderFieldCount
            SilentPeerLimits.apply(to: channel)
            try channel.pipeline.syncOperations.addHandler(DepartureHandler(on: channel.eventLoop))
            try channel.pipeline.syncOperations.addHandler(UndecidedConnectionHandler())
            let dialect = try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
                configuration: pipeline
            )
            return Value(dialect: dialect, channel: channel)
        }
    }

    private func setUpHTTP(_ channel: any Channel, _ logger: Logger) throws -> Dialect {
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(try pipeline.handler(type: UndecidedConnectionHandler.self), promise: nil)
        try pipeline.addHandler(ResponseCompressionHandler())
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try pipeline.addHandler(HTTPConnectionStateHandler(logger: logger))
        return .http(
            try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        )
    }

    private func setUpWebSocket(_ channel: any Channel) throws -> Dialect {
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(try pipeline.handler(type: UndecidedConnectionHandler.self), promise: nil)
        let messages = WebSocketMessageHandler(
            role: .service,
            maximumMessageLength: configuration.limits.maximumFrameLength
        )
        let responder = ResponderHandler(configuration, openedAt: channel.eventLoop.now)
        try pipeline.addHandler(messages)
        try pipeline.addHandler(responder)
        return .webSocket(
            try NIOAsyncChannel(wrappingChannelSynchronously: channel),
            ResponderHandle(responder, eventLoop: channel.eventLoop)
        )
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.dialect.get() {
            case .http(let channel): await http.handle(value: channel, logger: logger)
            case .webSocket(let channel, let connection): await serve(channel, connection, logger)
            }
        } catch {
            logger.debug("A connection ended before its first request", metadata: ["error": "\(error)"])
            value.channel.close(promise: nil)
        }
    }
}

/// Closes a connection on shutdown, or when its client goes away, while it has had no request.
private final class UndecidedConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        let isGone = (event as? ChannelEvent) == .inputClosed
        if isGone || event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

import HTTPConnections
import Logging
import NIOCore
import NIOWebSocket
import PowerSyncProtocol
import RSocket

extension WebSocketConnection {
    /// The upgrade of HTTP connections to RSocket over WebSocket, with compressed messages if the client offers them.
    ///
    /// - Parameters:
    ///   - limits: The time until SETUP is complete, and how many bytes may come until then.
    ///   - serve: Answers requests until the connection ends.
    /// - Returns: The upgrade.
    static func upgrade(
        limits: HTTPConnectionLimits,
        serve: @escaping @Sendable (WebSocketConnection, Logger) async -> Void
    ) -> WebSocketUpgrade<WebSocketConnection> {
        WebSocketUpgrade(
            accept: { offers in
                let extensions = MessageCompression.answer(toOffers: offers)
                return WebSocketUpgrade.Acceptance(extensions: extensions?.header) { context, codec in
                    try WebSocketConnection(context, codec, compression: extensions?.compression, limits: limits)
                }
            },
            serve: serve
        )
    }

    /// Puts the handlers of RSocket in the place of those of HTTP.
    private init(
        _ context: ChannelHandlerContext,
        _ codec: HTTPConnectionCodec,
        compression: MessageCompression?,
        limits: HTTPConnectionLimits
    ) throws {
        var configuration = ResponderConnection.Configuration()
        configuration.errorPrefix = "[\(ErrorCode.generic)] "
        configuration.setupTimeout = limits.headTime
        let responder = ResponderHandler(configuration, openedAt: context.eventLoop.now)
        let events = ResponderEventHandler()
        let maximumLength = configuration.limits.maximumFrameLength
        self.init(
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
    }
}

package import NIOCore
import NIOWebSocket

/// Bytes have come in, and what they complete was handed on: an inbound user event.
enum BytesReceived: Sendable {
    case received
}

/// Tells of all bytes that come in; before the decoder of frames.
///
/// The decoder hands out whole frames. Of a long message on a slow network nothing would be heard for minutes, and the
/// service would be taken for dead.
final class ReceivedBytesHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(data)
        // Behind what they complete, which makes it superfluous.
        context.fireUserInboundEventTriggered(BytesReceived.received)
    }
}

extension RequesterHandler {
    /// Adds this handler to a channel that was upgraded to WebSocket, with those that it needs.
    ///
    /// - Parameters:
    ///   - pipeline: What ends with the decoder of frames.
    ///   - messages: Makes messages of frames.
    /// - Throws: `ChannelPipelineError` when there is no decoder, or `ChannelError` when the channel is closed.
    package func add(
        to pipeline: ChannelPipeline.SynchronousOperations,
        with messages: WebSocketMessageHandler
    ) throws {
        let decoder = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
        try pipeline.addHandler(ReceivedBytesHandler(), position: .before(decoder))
        try pipeline.addHandlers([messages, self])
    }
}

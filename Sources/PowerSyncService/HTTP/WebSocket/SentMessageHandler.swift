import NIOCore
import NIOWebSocket
import PowerSyncServiceCore

/// Counts the bytes of messages that are sent over a WebSocket, compressed or not: frames of RSocket, most of them with
/// lines.
final class SentMessageHandler: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        if frame.opcode == .binary { ClientStreamStatistics.didSend(byteCount: frame.data.readableBytes) }
        context.write(data, promise: promise)
    }
}

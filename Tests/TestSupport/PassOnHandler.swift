import NIOCore

/// Passes bytes on to another channel, and closes it when this one closes.
final class PassOnHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let target: any Channel
    /// Whether bytes are thrown away, or the end if there are none; asked each time.
    private let isFrozen: @Sendable (ByteBuffer?) -> Bool

    init(to target: any Channel, isFrozen: @escaping @Sendable (ByteBuffer?) -> Bool = { _ in false }) {
        self.target = target
        self.isFrozen = isFrozen
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if !isFrozen(bytes) { target.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isFrozen(nil) { target.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

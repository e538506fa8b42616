package import NIOCore
package import NIOWebSocket

/// How far the SETUP of a connection is, for the handlers before the ``ResponderHandler``: an outbound user event.
package enum SetupProgress: Sendable {
    /// It has arrived.
    case received
    /// The client is welcome.
    case accepted
}

/// Closes a connection that sends more than a SETUP needs before its SETUP is complete; before the decoder of frames.
///
/// The decoder collects whole frames, and the limit of those is one for clients that are known.
package final class SetupLengthHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer

    private let limit: Int
    /// `nil` when the SETUP has arrived.
    private var received: Int? = 0

    /// Creates a handler.
    ///
    /// - Parameter limit: The most bytes.
    package init(limit: Int) {
        self.limit = limit
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let length = unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        guard let before = received else { return }
        received = before + length
        guard before + length > limit else { return }
        context.fireErrorCaught(WebSocketFailure.messageTooLong(limit: limit))
        context.close(promise: nil)
    }

    package func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        if case .received = event as? SetupProgress { received = nil }
        context.triggerUserOutboundEvent(event, promise: promise)
    }
}

/// Holds back what follows a SETUP until the client is welcome; behind the decoder of frames.
///
/// Nothing more is read meanwhile, and nothing is decompressed: a client that is not known costs what it has sent. When the
/// connection is closed instead, the client's answer to the close frame is let through.
package final class SetupGateHandler: ChannelDuplexHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias OutboundIn = WebSocketFrame
    package typealias OutboundOut = WebSocketFrame

    private var isHolding = false
    private var held: [NIOAny] = []
    private var isReadPending = false

    /// Creates a handler.
    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isHolding { held.append(data) } else { context.fireChannelRead(data) }
    }

    package func read(context: ChannelHandlerContext) {
        if isHolding { isReadPending = true } else { context.read() }
    }

    package func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        switch event as? SetupProgress {
        case .received: isHolding = true
        case .accepted: release(context)
        case nil: break
        }
        context.triggerUserOutboundEvent(event, promise: promise)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let isEnd = isHolding && unwrapOutboundIn(data).opcode == .connectionClose
        context.write(data, promise: promise)
        if isEnd { release(context) }
    }

    private func release(_ context: ChannelHandlerContext) {
        isHolding = false
        let frames = held
        held = []
        for frame in frames { context.fireChannelRead(frame) }
        if !frames.isEmpty { context.fireChannelReadComplete() }
        guard isReadPending else { return }
        isReadPending = false
        context.read()
    }
}

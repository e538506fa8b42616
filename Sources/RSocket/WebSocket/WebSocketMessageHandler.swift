package import NIOCore
package import NIOWebSocket

/// Turns WebSocket frames into messages and back, for either end of a connection (RFC 6455).
///
/// ```
///             inbound                                    outbound
/// text, binary, continuation…  ▶ one message       one message ▶ one binary frame
/// ping                         ▶ answered with pong
/// close                        ▶ answered, then the channel closes
///                                                  close ▶ close frame; the channel closes when the peer has
///                                                          answered, or after one second
/// ```
///
/// If that was agreed on, messages that the peer has compressed are restored, and messages are compressed for it; while that takes
/// more than a moment (``OutgoingMessages``), nothing is read, and closing waits. Text counts as bytes. A message that breaks the
/// rules is an error downstream, ``WebSocketFailure`` or ``MessageInflater/Failure``, and closes the connection: to close it alone
/// would look like a normal end. What arrives after a close frame was sent is dropped. A peer that shuts down its side of the
/// socket has gone. ``BytesReceived`` is passed on when the bytes are part of a message that is not complete.
package final class WebSocketMessageHandler: ChannelDuplexHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = WebSocketFrame

    /// Which end of the connection this is: clients mask what they send, and services insist on that.
    package enum Role: Sendable {
        case client, service
    }

    private enum State {
        case open
        /// The close frame follows when what was written before is compressed.
        case sending
        /// The close frame was sent; the peer has until then to answer.
        case closing(deadline: Scheduled<Void>)
        case closed
    }

    /// How long the peer has to answer a close frame.
    private static let closeTimeout = TimeAmount.seconds(1)
    /// How long the event loop has for other connections before the next piece of a message is compressed: 0.1 ms.
    ///
    /// Without any pause the loop would do nothing else until the last piece: it looks at its sockets when no task is due.
    private static let pause = TimeAmount.microseconds(100)

    private let role: Role
    private let maximumMessageLength: Int
    /// The limit of the message that comes next.
    private var messageLimit: Int
    private var state = State.open
    /// The beginning of a message that goes on in the next frame.
    private var partialMessage: Message?
    /// What the bytes that came last have completed.
    private var completed = Completed.nothing
    private let inflater: MessageInflater?
    /// What waits to be compressed; `nil` when nothing is.
    private var outgoing: OutgoingMessages?
    private var isReadPending = false

    private enum Completed {
        case nothing, controlFrame, dataFrame, message
    }

    private struct Message {
        var bytes = ByteBuffer()
        let isCompressed: Bool
    }

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - role: The end of the connection.
    ///   - maximumMessageLength: The largest message that is accepted, in bytes; larger ones close the connection with
    ///     code 1009. That counts before they are restored as well as afterwards.
    ///   - maximumFirstLength: The same for the first message, which may be of an unknown sender; `nil` for no difference.
    ///   - compression: What was agreed on for compressed messages; `nil` for none.
    package init(
        role: Role,
        maximumMessageLength: Int,
        maximumFirstLength: Int? = nil,
        compression: MessageCompression? = nil
    ) {
        self.role = role
        self.maximumMessageLength = maximumMessageLength
        messageLimit = maximumFirstLength ?? maximumMessageLength
        inflater = compression.map { MessageInflater(keepsWindow: $0.keepsWindow) }
        outgoing = (compression?.sentWindowBits).map { OutgoingMessages(windowBits: $0) }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch state {
        case .open: received(frame, context)
        case .sending, .closing:
            if frame.opcode == .connectionClose { finish(context, promise: nil) }
        case .closed: break
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .open = state else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        let message = unwrapOutboundIn(data)
        guard let isIdle = outgoing?.isEmpty else {
            context.write(wrapOutboundOut(frame(.binary, message)), promise: promise)
            return
        }
        outgoing?.append(message, promise)
        if isIdle { sendMessages(context) }
    }

    package func read(context: ChannelHandlerContext) {
        if outgoing?.isEmpty ?? true { context.read() } else { isReadPending = true }
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            context.close(mode: mode, promise: promise)
            return
        }
        switch state {
        case .open where context.channel.isActive:
            if outgoing?.isEmpty ?? true { close(context, .normalClosure) } else { state = .sending }
            promise.map { context.channel.closeFuture.cascade(to: $0) }
        case .sending, .closing:
            promise.map { context.channel.closeFuture.cascade(to: $0) }
        case .open, .closed:
            finish(context, promise: promise)
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is BytesReceived, !takePart() { return }
        if let event = event as? ChannelEvent, event == .inputClosed { finish(context, promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(error)
        finish(context, promise: nil)
    }
}

extension WebSocketMessageHandler {
    private func received(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        guard (frame.maskKey != nil) == (role == .service), !frame.rsv2, !frame.rsv3 else {
            return refuse(.protocolError, context)
        }
        switch frame.opcode {
        case .binary, .text:
            guard partialMessage == nil, !frame.rsv1 || inflater != nil else { return refuse(.protocolError, context) }
            partialMessage = Message(isCompressed: frame.rsv1)
            append(frame, context)
        case _ where frame.rsv1: refuse(.protocolError, context)
        case .continuation:
            guard partialMessage != nil else { return refuse(.protocolError, context) }
            append(frame, context)
        case .ping:
            controlFrameCompleted()
            context.writeAndFlush(wrapOutboundOut(self.frame(.pong, frame.unmaskedData)), promise: nil)
        case .connectionClose:
            context.writeAndFlush(wrapOutboundOut(self.frame(.connectionClose, frame.unmaskedData)), promise: nil)
            finish(context, promise: nil)
        case .pong: controlFrameCompleted()
        default: refuse(.protocolError, context)
        }
    }

    /// Reports what the peer has done, and closes.
    private func refuse(_ failure: WebSocketFailure, _ context: ChannelHandlerContext) {
        context.fireErrorCaught(failure)
        close(context, failure.code)
    }

    private func controlFrameCompleted() {
        if case .nothing = completed { completed = .controlFrame }
    }

    /// Whether the bytes that came last are part of a message that goes on.
    ///
    /// A ping is none: its sender need not be the service.
    private func takePart() -> Bool {
        defer { completed = .nothing }
        guard case .open = state else { return false }
        switch completed {
        case .nothing, .dataFrame: return true
        case .controlFrame, .message: return false
        }
    }

    /// Appends a frame to the partial message, in its place: a copy for each frame would take the square of their number.
    private func append(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        let count = partialMessage?.bytes.readableBytes ?? 0
        guard count + frame.length <= messageLimit else { return refuse(.messageTooLong(limit: messageLimit), context) }
        if count == 0 {
            partialMessage?.bytes = frame.unmaskedData
        } else if frame.length > 0 {
            partialMessage?.bytes.writeImmutableBuffer(frame.unmaskedData)
        }
        if !frame.fin {
            if completed != .message { completed = .dataFrame }
        } else if let message = partialMessage.take() {
            completed = .message
            received(message, context)
        }
    }

    private func received(_ message: Message, _ context: ChannelHandlerContext) {
        let limit = messageLimit
        messageLimit = maximumMessageLength
        guard message.isCompressed, let inflater else {
            return context.fireChannelRead(wrapInboundOut(message.bytes))
        }
        do throws(MessageInflater.Failure) {
            let restored = try inflater.inflate(message.bytes, limit: limit)
            context.fireChannelRead(wrapInboundOut(restored))
        } catch {
            context.fireErrorCaught(error)
            switch error {
            case .malformed: close(context, .dataInconsistentWithMessage)
            case .tooLarge: close(context, .messageTooLarge)
            }
        }
    }

    /// Sends a close frame, and waits for the answer.
    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        partialMessage = nil
        outgoing?.fail(ChannelError.ioOnClosedChannel)
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        let this = NIOLoopBound(self, eventLoop: context.value.eventLoop)
        state = .closing(
            deadline: context.value.eventLoop.scheduleTask(in: Self.closeTimeout) {
                this.value.finish(context.value, promise: nil)
            }
        )
        context.value.writeAndFlush(wrapOutboundOut(frame(.connectionClose, data)), promise: nil)
    }

    /// Closes the channel.
    private func finish(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        end()
        context.close(promise: promise)
    }

    private func end() {
        cancelDeadline()
        state = .closed
        isReadPending = false
        outgoing?.fail(ChannelError.ioOnClosedChannel)
    }

    private func cancelDeadline() {
        if case .closing(let deadline) = state { deadline.cancel() }
    }

    /// Sends what waits, as far as it can be compressed at once; the rest after a pause.
    private func sendMessages(_ context: ChannelHandlerContext) {
        while let next = outgoing?.next() {
            switch next {
            case .send(let message, let isCompressed, let promise):
                var frame = frame(.binary, message)
                frame.rsv1 = isCompressed
                context.write(wrapOutboundOut(frame), promise: promise)
            case .pause:
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: Self.pause) {
                    let (handler, context) = bound.value
                    handler.sendMessages(context)
                    context.flush()
                    handler.goOn(context)
                }
                return
            case .done: return
            }
        }
    }

    /// Does what has waited for messages to be sent, if none is left.
    private func goOn(_ context: ChannelHandlerContext) {
        guard outgoing?.isEmpty ?? true else { return }
        if case .sending = state { close(context, .normalClosure) }
        guard isReadPending else { return }
        isReadPending = false
        context.read()
    }

    private func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: role == .client ? .random() : nil, data: data)
    }
}

package import NIOCore

/// The end of a connection that asks: runs a ``RequesterConnection`` with one stream on the event loop of its channel.
///
/// Sends the SETUP and the request when ``RequesterStream/begin()`` is called, and keepalives until the end. Everything
/// that arrives is read at once; the credit of the stream bounds it. When the stream ends, the channel is closed.
package final class RequesterHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    let payloads = PayloadQueue()
    private var connection: RequesterConnection
    private let request: Payload
    private let window: CreditWindow
    /// The stream; `nil` before the request was sent, and after the stream has ended.
    private var streamID: StreamID?
    private var timer = DeadlineTimer()
    private var context: ChannelHandlerContext?

    /// Creates a handler for a channel whose upgrade to WebSocket is complete.
    ///
    /// - Parameters:
    ///   - configuration: With the SETUP.
    ///   - request: What to ask for.
    ///   - window: How far the responder may run ahead of the consumer.
    ///   - now: The time of the event loop.
    package init(
        _ configuration: RequesterConnection.Configuration,
        request: Payload,
        window: CreditWindow = .standard,
        openedAt now: NIODeadline
    ) {
        connection = RequesterConnection(configuration, openedAt: now.duration)
        self.request = request
        self.window = window
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        updateTimer()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end(.success(()))
        self.context = nil
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        perform(connection.messageReceived(unwrapInboundIn(data), at: context.eventLoop.now.duration))
        updateTimer()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is BytesReceived else { return context.fireUserInboundEventTriggered(event) }
        guard connection.partReceived(at: context.eventLoop.now.duration) else { return }
        payloads.notePart()
        updateTimer()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failure(.channel(error)))
        context.fireErrorCaught(error)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end(.success(()))
        context.fireChannelInactive()
    }
}

// What the consumer does, on the event loop.
extension RequesterHandler {
    func begin() {
        write(connection.setupFrame)
        do throws(RSocketError) {
            let frame = try connection.requestStream(request, window: window)
            streamID = frame.streamID
            write(.requestStream(frame))
        } catch {
            finish(.failure(.connection(error)))
        }
    }

    func consumed(_ count: Int) {
        for _ in 0..<count {
            guard let streamID, let frame = connection.payloadConsumed(on: streamID) else { continue }
            write(frame)
        }
    }

    func cancel() {
        if let streamID, let frame = connection.cancel(streamID) { write(frame) }
        finish(.success(()))
    }
}

extension RequesterHandler {
    private func perform(_ action: RequesterConnection.ReceiveAction) {
        switch action {
        case .none: break
        case .send(let frame): write(frame)
        case .keepaliveAnswered: payloads.noteKeepaliveAnswer()
        case .partArrived: payloads.notePart()
        case .deliver(let payload, _): payloads.append(payload.data)
        case .deliverLast(let payload, _):
            payloads.append(payload.data)
            finish(.success(()))
        case .complete: finish(.success(()))
        case .fail(let error): finish(.failure(.failed(error)))
        case .close(let closure): close(closure)
        }
    }

    private func close(_ closure: ConnectionClosure) {
        if let frame = closure.lastFrame { write(frame) }
        finish(.failure(.connection(closure.reason)))
    }

    /// Ends the stream, and the connection with it.
    private func finish(_ result: Result<Void, RequesterStreamError>) {
        end(result)
        context?.close(promise: nil)
    }

    private func end(_ result: Result<Void, RequesterStreamError>) {
        timer.cancel()
        _ = connection.connectionClosed()
        payloads.finish(result)
    }

    private func write(_ frame: Frame) {
        guard let context else { return }
        do throws(FrameError) {
            let message = try frame.encoded(allocator: context.channel.allocator)
            context.writeAndFlush(wrapOutboundOut(message), promise: nil)
        } catch {
            finish(.failure(.connection(.malformedFrame(error))))
        }
    }

    /// Makes sure that the connection hears about its deadline.
    private func updateTimer() {
        guard let context else { return timer.cancel() }
        let this = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer.set(connection.deadline, on: context.eventLoop) { this.value.timerFired() }
    }

    private func timerFired() {
        timer.fired()
        guard let context else { return }
        switch connection.timerFired(at: context.eventLoop.now.duration) {
        case .none: break
        case .send(let frame): write(frame)
        case .close(let closure): close(closure)
        }
        updateTimer()
    }
}

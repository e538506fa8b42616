package import NIOCore

/// The end of a connection that answers: runs a ``ResponderConnection`` on the event loop of its channel.
///
/// Reads and writes WebSocket messages; what the service has to do comes out as ``ResponderEvent`` values. Everything
/// that the service does goes through a ``ResponderHandle``.
///
/// Why it has ended a connection itself is an error downstream, an ``RSocketError``.
///
/// While the socket does not take what is sent, nothing is read, and the requester is not taken for dead: its KEEPALIVEs are among what
/// is not read. That it takes nothing any more, TCP has to notice. Payloads without credit wait here; they are those of at most
/// one call for each stream, because the sender waits for their promise.
package final class ResponderHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ResponderEvent
    package typealias OutboundIn = Never
    package typealias OutboundOut = ByteBuffer

    /// Payloads that wait for credit.
    private struct Waiting {
        var payloads: ArraySlice<Payload>
        var promise: EventLoopPromise<Void>
    }

    private var connection: ResponderConnection
    /// The streams that were started and have not ended.
    private var streams: Set<StreamID> = []
    private var waiting: [StreamID: Waiting] = [:]
    private var timer = DeadlineTimer()
    private var isReadPending = false
    private var context: ChannelHandlerContext?

    /// Creates a handler for a channel whose upgrade to WebSocket is complete.
    package init(_ configuration: ResponderConnection.Configuration, openedAt now: NIODeadline) {
        connection = ResponderConnection(configuration, openedAt: now.duration)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        updateTimer()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        perform(connection.messageReceived(unwrapInboundIn(data), at: context.eventLoop.now.duration))
        updateTimer()
    }

    package func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { isReadPending = true }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, isReadPending {
            isReadPending = false
            connection.readingContinues(at: context.eventLoop.now.duration)
            updateTimer()
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        for streamID in streams.sorted() { _ = complete(streamID) }
        context.fireChannelRead(wrapInboundOut(.shutdown))
        context.fireChannelReadComplete()
        context.close(promise: nil)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }
}

// What the service does, on the event loop.
extension ResponderHandler {
    func acceptSetup() {
        for request in connection.acceptSetup() { start(request) }
        // Outside of a read, events are held back until the channel says that they are complete.
        context?.fireChannelReadComplete()
        updateTimer()
        context?.triggerUserOutboundEvent(SetupProgress.accepted, promise: nil)
    }

    func rejectSetup(code: RSocketErrorCode, message: String) {
        if let closure = connection.rejectSetup(code: code, message: message) { close(closure) }
    }

    /// Sends payloads when there is credit for them.
    ///
    /// The promise fails with ``StreamEndedError`` when the requester wants them no more.
    func send(_ payloads: ArraySlice<Payload>, on streamID: StreamID, promise: EventLoopPromise<Void>) {
        var rest = payloads
        defer { context?.flush() }
        while let payload = rest.first {
            guard streams.contains(streamID) else { return promise.fail(StreamEndedError()) }
            switch connection.send(payload, on: streamID) {
            case .send(let frame):
                rest.removeFirst()
                // Without this one, those that follow must not be sent.
                do { try put(frame, promise: rest.isEmpty ? promise : nil) } catch { return promise.fail(error) }
            case .waitForCredit:
                waiting[streamID] = Waiting(payloads: rest, promise: promise)
                return
            case .streamEnded: return promise.fail(StreamEndedError())
            }
        }
        if payloads.isEmpty { promise.succeed() }
    }

    /// Takes back payloads that wait for credit.
    func withdraw(_ streamID: StreamID) {
        waiting.removeValue(forKey: streamID)?.promise.fail(CancellationError())
    }

    /// Ends a stream normally.
    func complete(_ streamID: StreamID) -> Bool {
        guard forget(streamID), let frame = connection.complete(streamID) else { return false }
        write(frame, promise: nil)
        return true
    }

    /// Ends a stream with an error.
    func fail(_ streamID: StreamID, message: String) {
        guard forget(streamID),
            let frame = connection.fail(streamID, code: .applicationError, message: message)
        else { return }
        write(frame, promise: nil)
    }
}

extension ResponderHandler {
    private func perform(_ action: ResponderConnection.ReceiveAction) {
        switch action {
        case .none: break
        case .verify(let setup):
            context?.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
            context?.fireChannelRead(wrapInboundOut(.setup(setup)))
        case .send(let frame): write(frame, promise: nil)
        case .start(let request): start(request)
        case .resume(let streamID):
            guard let next = waiting.removeValue(forKey: streamID) else { return }
            send(next.payloads, on: streamID, promise: next.promise)
        case .cancel(let streamID): cancelled(streamID)
        case .abort(let error):
            cancelled(error.streamID)
            write(.error(error), promise: nil)
        case .close(let closure): close(closure)
        }
    }

    private func start(_ request: StreamRequest) {
        streams.insert(request.streamID)
        context?.fireChannelRead(wrapInboundOut(.request(request)))
    }

    private func cancelled(_ streamID: StreamID) {
        if forget(streamID) { context?.fireChannelRead(wrapInboundOut(.cancelled(streamID))) }
    }

    /// Forgets a stream that ends.
    ///
    /// - Returns: Whether it was open.
    private func forget(_ streamID: StreamID) -> Bool {
        waiting.removeValue(forKey: streamID)?.promise.fail(StreamEndedError())
        return streams.remove(streamID) != nil
    }

    private func close(_ closure: ConnectionClosure) {
        for streamID in closure.streams { _ = forget(streamID) }
        if let frame = closure.lastFrame { write(frame, promise: nil) }
        context?.fireErrorCaught(closure.reason)
        context?.close(promise: nil)
    }

    /// The channel is gone.
    private func end() {
        timer.cancel()
        _ = connection.connectionClosed()
        for streamID in streams { _ = forget(streamID) }
    }

    private func write(_ frame: Frame, promise: EventLoopPromise<Void>?) {
        do {
            try put(frame, promise: promise)
            context?.flush()
        } catch {
            promise?.fail(error)
        }
    }

    /// Writes a frame without a flush.
    ///
    /// - Throws: `FrameError`, or an error of the channel if it is closed; then the promise is left alone.
    private func put(_ frame: Frame, promise: EventLoopPromise<Void>?) throws {
        guard let context else { throw ChannelError.ioOnClosedChannel }
        let message = try frame.encoded(allocator: context.channel.allocator)
        context.write(wrapOutboundOut(message), promise: promise)
    }

    /// Makes sure that the connection hears about its deadline.
    private func updateTimer() {
        guard let context else { return timer.cancel() }
        let this = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer.set(connection.deadline, on: context.eventLoop) { this.value.timerFired() }
    }

    private func timerFired() {
        timer.fired()
        guard let context, !isReadPending || !connection.hasSetup else { return }
        if let closure = connection.timerFired(at: context.eventLoop.now.duration) { close(closure) }
        updateTimer()
    }
}

/// The requester wants no more of a stream, or the connection has ended.
package struct StreamEndedError: Error, Sendable, Hashable {}

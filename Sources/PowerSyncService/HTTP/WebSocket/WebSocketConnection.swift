import NIOCore
import RSocket

/// A connection that has become a WebSocket.
struct WebSocketConnection: Sendable {
    /// The events of the client, until the connection ends.
    typealias Events = NIOThrowingAsyncSequenceProducer<
        ResponderEvent, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark,
        ResponderEventHandler.Delegate
    >

    /// For one iterator.
    let events: Events
    /// Sends answers to the client.
    let handle: ResponderHandle
    /// The connection itself.
    let channel: any Channel
}

/// Hands the events of a WebSocket over to a task; the last handler that sees anything of the connection.
///
/// Behind it are those of HTTP, which cannot be removed because a task waits for more requests. They learn the end
/// only. While the task does not take events, nothing is read.
final class ResponderEventHandler: ChannelDuplexHandler {
    typealias InboundIn = ResponderEvent
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    /// Reads on when the task has taken events.
    struct Delegate: NIOAsyncSequenceProducerDelegate {
        fileprivate let handler: NIOLoopBound<ResponderEventHandler>
        fileprivate let eventLoop: any EventLoop

        func produceMore() {
            eventLoop.execute { handler.value.resume() }
        }

        func didTerminate() {}
    }

    private var source: WebSocketConnection.Events.Source?
    private var context: ChannelHandlerContext?
    private var isPaused = false
    private var isReadPending = false

    /// The events; once, on the event loop.
    func makeEvents(_ eventLoop: any EventLoop) -> WebSocketConnection.Events {
        let made = WebSocketConnection.Events.makeSequence(
            backPressureStrategy: .init(lowWatermark: 2, highWatermark: 10),
            finishOnDeinit: false,
            delegate: Delegate(handler: NIOLoopBound(self, eventLoop: eventLoop), eventLoop: eventLoop)
        )
        source = made.source
        return made.sequence
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        source?.finish()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .stopProducing = source?.yield(unwrapInboundIn(data)) { isPaused = true }
    }

    func read(context: ChannelHandlerContext) {
        if isPaused { isReadPending = true } else { context.read() }
    }

    private func resume() {
        isPaused = false
        guard isReadPending else { return }
        isReadPending = false
        context?.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        source?.finish(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        source?.finish()
        context.fireChannelInactive()
    }
}

package import NIOCore

/// Back-pressure of a connection: lets a writer wait until the network has taken what was written.
///
/// A channel that is writable accepts a write of any size at once, and keeps its buffer until the last byte has gone. A
/// writer that limits the memory of unsent bytes waits until the buffer is empty, after a large write, or until the
/// channel is writable again, which keeps the network busy while the next write is made.
package final class DeliveryHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The promise of the one task that writes to the connection, while it waits.
    private var delivered: EventLoopPromise<Void>?
    /// Whether the task waits until the buffer is empty.
    private var waitsForAll = false
    private var clientHasLeft = false

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, !waitsForAll { succeed() }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if (event as? ChannelEvent) == .inputClosed { stopWaiting() }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        stopWaiting()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        stopWaiting()
    }

    /// Ends the wait, and all later ones: a client that has left does not read; see ``DepartureHandler``.
    private func stopWaiting() {
        clientHasLeft = true
        succeed()
    }

    private func succeed() {
        delivered?.succeed()
        delivered = nil
    }

    private func deliver(_ context: ChannelHandlerContext, all: Bool) -> EventLoopFuture<Void> {
        guard !clientHasLeft, all || !context.channel.isWritable else {
            return context.eventLoop.makeSucceededVoidFuture()
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        (delivered, waitsForAll) = (promise, all)
        // The empty write is done when the network has taken all bytes before it.
        if all { context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise) }
        return promise.futureResult
    }

    /// Waits until the network has taken what this task has written to a connection before, or the client has left.
    ///
    /// - Parameters:
    ///   - channel: A connection with this handler. When the task is cancelled, it is closed.
    ///   - all: Whether to wait until the buffer is empty, and not only until the channel is writable.
    package static func waitUntilDelivered(_ channel: any Channel, all: Bool) async {
        await withTaskCancellationHandler {
            let future = channel.eventLoop.flatSubmit {
                do {
                    let pipeline = channel.pipeline.syncOperations
                    let handler = try pipeline.handler(type: DeliveryHandler.self)
                    return handler.deliver(try pipeline.context(handlerType: DeliveryHandler.self), all: all)
                } catch {
                    // The pipeline of a closed connection is empty.
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
            }
            try? await future.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}

package import NIOCore

/// Tells when the network has taken what was written to a connection.
///
/// A channel that is writable takes over a write of any size at once, and keeps its buffer until the last byte has gone. Who wants to
/// know what is in memory has to wait: for all of it after a large write, or until the channel is writable again, which keeps the
/// network busy while the next write is made.
package final class DeliveryHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Who waits; one task writes to a connection.
    private var delivered: EventLoopPromise<Void>?
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

    /// Who has left does not read any more; see ``DepartureHandler``.
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
        // It is taken after everything before it.
        if all { context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise) }
        return promise.futureResult
    }

    /// Waits until the network has taken what this task has written to a connection before, or the client has left.
    ///
    /// - Parameters:
    ///   - channel: A connection with this handler. When the task is cancelled, it is closed.
    ///   - all: Whether nothing may be left; else the channel is writable afterwards.
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

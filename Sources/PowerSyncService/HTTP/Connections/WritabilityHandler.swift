import NIOCore

/// Tells when the network has taken what was written to a connection, but for the little that NIO keeps for it: 64 KiB.
///
/// A write of any size is taken over at once by a channel that is writable. Who wants to know what is in memory has to wait until the
/// channel is writable again.
final class WritabilityHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var waiting: [EventLoopPromise<Void>] = []

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { release() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        release()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        release()
    }

    private func release() {
        for promise in waiting { promise.succeed() }
        waiting = []
    }

    /// Waits until a connection is writable, after what this task has written to it before, or closed.
    ///
    /// - Parameter channel: A connection with this handler. When the task is cancelled, it is closed.
    static func waitUntilWritable(_ channel: any Channel) async {
        await withTaskCancellationHandler {
            let future = channel.eventLoop.flatSubmit {
                guard !channel.isWritable,
                    // The pipeline of a closed connection is empty.
                    let handler = try? channel.pipeline.syncOperations.handler(type: WritabilityHandler.self)
                else { return channel.eventLoop.makeSucceededVoidFuture() }
                let promise = channel.eventLoop.makePromise(of: Void.self)
                handler.waiting.append(promise)
                return promise.futureResult
            }
            try? await future.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}

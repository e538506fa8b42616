import AsyncHTTPClient
import NIOCore

extension HTTPClient.Configuration {
    /// Fails requests of whose connection nothing has been sent or received for some time, with `HTTPClientError.readTimeout`.
    ///
    /// The client's own `timeout.read` and `timeout.write` are not for requests with bodies: when a server answers before it has the
    /// whole body, the pool may begin the next request on the connection while the end of this one is being sent, and the
    /// timers of the two are taken for each other, which ends the process.
    ///
    /// - Parameter timeout: How long nothing may move.
    mutating func limitSilence(to timeout: TimeAmount) {
        // The client calls it on the channel's loop, and writes the request to a stream of HTTP/2 when it is done: at once, or
        // else the connection may end before the stream has its request, and that ends the process.
        let add: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.eventLoop.makeCompletedFuture {
                // At the socket's side, where everything passes that is sent and received.
                try channel.pipeline.syncOperations.addHandlers(
                    [IdleStateHandler(allTimeout: timeout), SilenceHandler()],
                    position: .first
                )
            }
        }
        http1_1ConnectionDebugInitializer = add
        http2StreamChannelDebugInitializer = add
    }
}

/// Fails what runs on a connection that is silent for too long, and closes it.
private final class SilenceHandler: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// Whether the error is on its way to the client, which closes the connection before it fails the request.
    private var isFailing = false

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        isFailing = true
        context.fireErrorCaught(HTTPClientError.readTimeout)
        isFailing = false
        context.close(promise: nil)
    }

    /// Puts off closing until the request has failed: what waits to be sent would fail first, and the request with its error.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard isFailing else { return context.close(mode: mode, promise: promise) }
        context.channel.closeFuture.cascade(to: promise)
    }
}

package import NIOCore

/// Detects that the client of a connection has left, in any way.
///
/// It is the first handler of each connection, behind that of TLS, whatever protocol is spoken later, so that no other
/// handler can hold the events of the socket back:
///
/// | what the client did | the event |
/// | --- | --- |
/// | closed its end, or only the sending half of it | `ChannelEvent.inputClosed` |
/// | said over TLS that it sends no more | the same, from the handler of TLS |
/// | reset the connection | it is closed: `channelInactive` |
/// | vanished without a word | it is closed after a time-out of TCP; see ``SilentPeerLimits`` |
///
/// A client that has closed its sending half could still read, but clients of event streams do not: proxies do so to
/// pass on that their client has left.
///
/// The end of the input comes after the input. From ``whenClientLeaves(_:_:)`` on, everything that arrives is therefore
/// read and discarded: the response that is written then is the last one of the connection, and requests behind it
/// would hide the end.
package final class DepartureHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer

    private let departure: EventLoopPromise<Void>
    private var discardsInput = false

    init(on eventLoop: any EventLoop) {
        departure = eventLoop.makePromise()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !discardsInput { context.fireChannelRead(data) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if discardsInput { context.read() }
        context.fireChannelReadComplete()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if (event as? ChannelEvent) == .inputClosed { departure.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        departure.succeed()
        context.fireChannelInactive()
    }

    /// Called also when a connection is closed that never became active.
    package func handlerRemoved(context: ChannelHandlerContext) {
        departure.succeed()
    }

    /// Runs a closure when the client of a connection leaves, at once if it has left.
    ///
    /// No further request is read from the connection; close it after the response.
    ///
    /// - Parameters:
    ///   - channel: A connection with this handler.
    ///   - callback: Runs once, on the event loop of the connection, at the latest when that is closed.
    package static func whenClientLeaves(_ channel: any Channel, _ callback: @escaping @Sendable () -> Void) {
        channel.eventLoop.flatSubmit {
            do {
                let pipeline = channel.pipeline.syncOperations
                let handler = try pipeline.handler(type: DepartureHandler.self)
                handler.discardsInput = true
                try pipeline.context(handlerType: DepartureHandler.self).read()
                return handler.departure.futureResult
            } catch {
                // The pipeline of a closed connection is empty.
                return channel.eventLoop.makeSucceededVoidFuture()
            }
        }
        .whenComplete { (_: Result<Void, any Error>) in callback() }
    }

    /// Waits until the client of a connection has left.
    ///
    /// Further requests are read as before, so that the end of the input may be hidden behind them.
    ///
    /// - Parameter channel: A connection with this handler.
    /// - Throws: `CancellationError` when the task is cancelled.
    package static func waitUntilClientLeaves(_ channel: any Channel) async throws {
        let (departures, departure) = AsyncStream.makeStream(of: Void.self)
        channel.eventLoop.flatSubmit {
            let handler = try? channel.pipeline.syncOperations.handler(type: DepartureHandler.self)
            // The pipeline of a closed connection is empty.
            return handler?.departure.futureResult ?? channel.eventLoop.makeSucceededVoidFuture()
        }
        .whenComplete { (_: Result<Void, any Error>) in departure.finish() }
        for await _ in departures {}
        try Task.checkCancellation()
    }
}

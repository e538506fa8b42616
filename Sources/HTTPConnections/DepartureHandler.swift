package import NIOCore

/// Notices that the client of a connection has gone, however it went.
///
/// It is the first handler of each connection, but for that of TLS, whatever is spoken later, and sees what the socket tells
/// before anything else can hold it back:
///
/// | what the client did | what the socket tells |
/// | --- | --- |
/// | closed its end, or only the sending half of it | `ChannelEvent.inputClosed` |
/// | said over TLS that it sends no more | the same, from the handler of TLS |
/// | reset the connection | it is closed: `channelInactive` |
/// | vanished without a word | it is closed after a time-out of TCP; see ``SilentPeerLimits`` |
///
/// A client that has closed its sending half could still read, but nobody who follows a stream of events does that: it is how
/// proxies pass on that their client has gone.
///
/// The end of the input comes after the input. From the moment when somebody waits for the departure, everything that arrives
/// is therefore read and thrown away: the response that runs then is the last one of the connection, and requests that wait
/// behind it would hide the end.
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

    /// Also called when a connection is closed that never became active.
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

    /// Runs an operation, and cancels it when the client of a connection leaves meanwhile.
    ///
    /// Further requests are read as before, so that the end of the input may be hidden behind them.
    ///
    /// - Throws: `CancellationError`, or what `operation` throws.
    package static func cancellingWhenClientLeaves<Result: Sendable>(
        _ channel: any Channel,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let (departures, departure) = AsyncStream.makeStream(of: Void.self)
        channel.eventLoop.flatSubmit {
            let handler = try? channel.pipeline.syncOperations.handler(type: DepartureHandler.self)
            // The pipeline of a closed connection is empty.
            return handler?.departure.futureResult ?? channel.eventLoop.makeSucceededVoidFuture()
        }
        .whenComplete { (_: Swift.Result<Void, any Error>) in departure.finish() }
        return try await withThrowingTaskGroup(of: Result.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await operation() }
            group.addTask {
                for await _ in departures {}
                throw CancellationError()
            }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}

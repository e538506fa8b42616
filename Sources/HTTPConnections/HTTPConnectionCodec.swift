package import NIOCore
import NIOHTTP1

/// The parser of requests and the encoder of responses of a connection.
///
/// For the event loop of the connection.
package final class HTTPConnectionCodec {
    private let encoder = HTTPResponseEncoder()
    private let decoder: HTTPRequestsDecoder
    private let parser: ByteToMessageHandler<HTTPRequestsDecoder>

    /// Adds a codec to the end of a pipeline.
    init(_ limits: HTTPConnectionLimits, addingTo pipeline: ChannelPipeline.SynchronousOperations) throws {
        decoder = HTTPRequestsDecoder(limits)
        parser = ByteToMessageHandler(decoder)
        try pipeline.addHandlers([encoder, parser])
    }

    /// Whether a part of a request has been read, and not its end.
    var isWithinRequest: Bool { decoder.isWithinRequest }

    /// Keeps what follows a request with a handshake for the handlers that take the place of the codec.
    ///
    /// From the head of the request on, from within the parser's reading.
    func keepRest() {
        decoder.keepsRest = true
    }

    /// Waits until everything that was written before is with the client, or at least with the system.
    func flush(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let flushed = context.eventLoop.makePromise(of: Void.self)
        do {
            let encoder = try context.pipeline.syncOperations.context(handler: encoder)
            encoder.writeAndFlush(NIOAny(ByteBuffer()), promise: flushed)
        } catch {
            flushed.fail(error)
        }
        return flushed.futureResult
    }

    /// Puts handlers in the place of the codec; they get the bytes that the parser has not read.
    package func replace(with handlers: [any ChannelHandler], _ pipeline: ChannelPipeline.SynchronousOperations) throws
    {
        try pipeline.addHandlers(handlers, position: .after(parser))
        pipeline.removeHandler(encoder, promise: nil)
        pipeline.removeHandler(parser, promise: nil)
    }
}

import NIOCore
import NIOHTTP1

/// The parser of requests and the encoder of responses of a connection.
///
/// For the event loop of the connection.
final class HTTPConnectionCodec {
    private typealias Parser = ByteToMessageHandler<HTTPRequestDecoder>

    private let limits: NIOHTTPDecoderLimitConfiguration
    private let encoder = HTTPResponseEncoder()
    private var parser: Parser

    /// Adds a codec to the end of a pipeline.
    init(_ limits: HTTPConnectionLimits, addingTo pipeline: ChannelPipeline.SynchronousOperations) throws {
        var configuration = NIOHTTPDecoderLimitConfiguration()
        configuration.maxHeaderFieldSize = limits.strangerLength
        configuration.maxHeaderListSize = limits.strangerLength
        configuration.maxHeaderFieldCount = limits.fieldCount
        self.limits = configuration
        parser = Self.makeParser(configuration)
        try pipeline.addHandlers([encoder, parser])
    }

    private static func makeParser(_ limits: NIOHTTPDecoderLimitConfiguration) -> Parser {
        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
    }

    /// Lets a new parser read what follows a request after which the old one has stopped.
    ///
    /// Only outside of the old one's reading.
    ///
    /// - Parameter context: Of a handler that can report an error.
    func replaceParser(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        let old = parser
        parser = Self.makeParser(limits)
        do {
            try pipeline.addHandler(parser, position: .after(old))
            // It forwards the bytes that it has not read.
            pipeline.removeHandler(old, promise: nil)
        } catch {
            context.close(promise: nil)
        }
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
    func replace(with handlers: [any ChannelHandler], _ pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandlers(handlers, position: .after(parser))
        pipeline.removeHandler(encoder, promise: nil)
        pipeline.removeHandler(parser, promise: nil)
    }
}

import NIOCore
import NIOHTTP1
import NIOHTTPCompression

/// Compresses the responses whose head says `Content-Encoding: gzip`, each write at once.
///
/// The work is done by NIO's `HTTPResponseCompressor`, on the event loop of the connection. What it has been given
/// leaves with the flush that follows every write, so nothing waits in it, and a socket that takes nothing suspends the
/// writer as it does without compression.
///
/// The compressor is in the pipeline for one response only, and is told what to do by a request head of our own. In
/// there for the life of the connection it would compress small answers, too, prefer `deflate` to `gzip`, and trap when
/// Hummingbird answers 400 to bytes that are not a request.
final class ResponseCompressionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The head of a request, as the compressor needs it.
    private static let requestHead = HTTPRequestHead(
        version: .http1_1,
        method: .POST,
        uri: "/",
        headers: ["Accept-Encoding": ContentCoding.gzip.rawValue]
    )

    /// In the pipeline, just before this handler, from the head to the end of a response.
    private var compressor: HTTPResponseCompressor?
    /// In the pipeline, just before the compressor.
    private var counter: CompressedBodyHandler?
    /// While the compressor reads, and passes on, the head that no client has sent.
    private var isInstructing = false
    private let didCompress: (_ byteCount: Int) -> Void

    /// Creates a handler.
    ///
    /// - Parameter didCompress: Called with the length of each compressed part of a body, when that is written.
    init(didCompress: @escaping (_ byteCount: Int) -> Void) {
        self.didCompress = didCompress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isInstructing { context.fireChannelRead(data) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.isToBeCompressed:
            do {
                try addCompressor(context)
                context.write(data, promise: promise)
            } catch {
                promise?.fail(error)
                context.close(promise: nil)
            }
        case .head, .body:
            context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            removeCompressor(context)
        }
    }

    private func addCompressor(_ context: ChannelHandlerContext) throws {
        removeCompressor(context)
        let compressor = HTTPResponseCompressor()
        let pipeline = context.pipeline.syncOperations
        try pipeline.addHandler(compressor, position: .before(self))
        self.compressor = compressor
        let counter = CompressedBodyHandler(didCompress)
        try pipeline.addHandler(counter, position: .before(compressor))
        self.counter = counter
        isInstructing = true
        defer { isInstructing = false }
        compressor.channelRead(
            context: try pipeline.context(handler: compressor),
            data: wrapInboundOut(.head(Self.requestHead))
        )
    }

    private func removeCompressor(_ context: ChannelHandlerContext) {
        guard let compressor else { return }
        self.compressor = nil
        context.pipeline.syncOperations.removeHandler(compressor, promise: nil)
        guard let counter else { return }
        self.counter = nil
        context.pipeline.syncOperations.removeHandler(counter, promise: nil)
    }
}

extension HTTPResponseHead {
    /// Whether a route has asked for compression.
    fileprivate var isToBeCompressed: Bool {
        headers.first(name: "Content-Encoding") == ContentCoding.gzip.rawValue
    }
}

/// Counts the bytes of a response body as its compressor has made them, before which this stands.
private final class CompressedBodyHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let didCompress: (_ byteCount: Int) -> Void

    init(_ didCompress: @escaping (_ byteCount: Int) -> Void) {
        self.didCompress = didCompress
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .body(.byteBuffer(let bytes)) = unwrapOutboundIn(data) { didCompress(bytes.readableBytes) }
        context.write(data, promise: promise)
    }
}

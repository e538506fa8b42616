import NIOCore
import NIOHTTP1

/// Decodes all the requests of a connection.
///
/// The parser of NIO takes what follows a CONNECT, or a request that asks for an upgrade, for another protocol, and
/// stops. The server ignores such wishes, so a new parser reads what follows. Only behind a WebSocket handshake are
/// bytes kept.
final class HTTPRequestsDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    /// Whether bytes that follow the request are left to the next handlers, if the request has stopped the parser.
    var keepsRest = false
    /// Whether a part of a request has been read, and not its end.
    private(set) var isWithinRequest = false
    private let limits: NIOHTTPDecoderLimitConfiguration
    private var parser: HTTPRequestDecoder

    init(_ limits: HTTPConnectionLimits) {
        var configuration = NIOHTTPDecoderLimitConfiguration()
        configuration.maxHeaderFieldSize = limits.strangerLength
        configuration.maxHeaderListSize = limits.strangerLength
        configuration.maxHeaderFieldCount = limits.fieldCount
        self.limits = configuration
        parser = Self.makeParser(configuration)
    }

    private static func makeParser(_ limits: NIOHTTPDecoderLimitConfiguration) -> HTTPRequestDecoder {
        HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits)
    }

    func decoderAdded(context: ChannelHandlerContext) {
        parser.decoderAdded(context: context)
    }

    func decoderRemoved(context: ChannelHandlerContext) {
        parser.decoderRemoved(context: context)
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        let state = try parser.decode(context: context, buffer: &buffer)
        isWithinRequest = !isBetweenRequests(context)
        guard buffer.readableBytes > 0, !keepsRest, !isWithinRequest else { return state }
        // The parser has stopped: between requests, it leaves nothing unread otherwise.
        parser.decoderRemoved(context: context)
        parser = Self.makeParser(limits)
        parser.decoderAdded(context: context)
        return .continue
    }

    func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        while buffer.readableBytes > 0, case .continue = try decode(context: context, buffer: &buffer) {}
        return try parser.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    /// Whether the connection could end here: no part of another request has been read.
    ///
    /// The parser does not tell whether it has stopped, but this, and is not changed by the question.
    private func isBetweenRequests(_ context: ChannelHandlerContext) -> Bool {
        var nothing = ByteBuffer()
        do {
            _ = try parser.decodeLast(context: context, buffer: &nothing, seenEOF: true)
            return true
        } catch {
            return false
        }
    }
}

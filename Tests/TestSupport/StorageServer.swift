import Crypto
package import Foundation
import NIOConcurrencyHelpers
package import NIOCore
package import NIOHTTP1
import NIOPosix

/// An HTTP server on a loopback port that streams bodies of any size in both directions.
package final class StorageServer: Sendable {
    /// A request, complete.
    package struct Request: Sendable {
        package var method: HTTPMethod
        package var uri: String
        package var headers: HTTPHeaders
        /// The size of the body.
        package var size = 0
        /// The SHA-256 digest of the body.
        package var digest = Data()
        /// The body, if it is not larger than 1 MiB.
        package var body = Data()

        /// The only value of a header, in any case.
        package func header(_ name: String) -> String? { headers.first(name: name) }
    }

    /// What the server answers.
    package struct Response: Sendable {
        /// How the response ends.
        package enum End: Sendable {
            case normal
            /// The connection is closed after so many bytes of the body.
            case closed(after: Int)
            /// Nothing comes any more after so many bytes of the body.
            case silent(after: Int)
            /// The rest of the body, after so many bytes, comes when the gate is open.
            case held(after: Int, until: Gate)
        }

        package var status = HTTPResponseStatus.ok
        package var headers: HTTPHeaders = [:]
        package var body = Content(bytes: Data())
        package var end = End.normal
        /// Whether the body has a `Content-Length`; else it is chunked.
        package var announcesLength = true

        package init(
            status: HTTPResponseStatus = .ok,
            headers: HTTPHeaders = [:],
            body: Content = Content(bytes: Data()),
            end: End = .normal,
            announcesLength: Bool = true
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.end = end
            self.announcesLength = announcesLength
        }
    }

    /// The bytes of a body, made when they are sent.
    package struct Content: Sendable {
        package let count: Int
        /// Gives bytes from an offset; not more than are there.
        package let slice: @Sendable (Int, Int) -> ByteBuffer

        package init(bytes: Data) {
            count = bytes.count
            slice = { offset, count in
                let start = bytes.startIndex + offset
                return ByteBuffer(bytes: bytes[start..<min(start + count, bytes.endIndex)])
            }
        }

        /// So many bytes that repeat after a prime number of them.
        package init(pattern count: Int) {
            let block = Content.block
            self.count = count
            slice = { offset, wanted in
                let start = offset % block.readableBytes
                let length = min(wanted, block.readableBytes - start, count - offset)
                return block.getSlice(at: start, length: length) ?? ByteBuffer()
            }
        }

        /// A prime number of bytes; made once, because a debug build takes its time.
        private static let block: ByteBuffer = {
            var block = ByteBuffer()
            for number in UInt64(0)..<(1 << 17) { block.writeInteger(number &* 0x9e37_79b9_7f4a_7c15) }
            return block.getSlice(at: 0, length: 1_048_573) ?? block
        }()

        private init(_ other: Content, from offset: Int) {
            count = other.count - offset
            slice = { other.slice(offset + $0, $1) }
        }

        package func dropFirst(_ offset: Int) -> Content { Content(self, from: offset) }
    }

    private let host: String
    private let channel: any Channel
    private let requests: RequestLog

    private init(on host: String, _ respond: @escaping @Sendable (Request) -> Response) async throws {
        let requests = RequestLog()
        self.host = host
        self.requests = requests
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(respond: respond, requests: requests))
                }
            }
            .bind(host: host, port: 0)
            .get()
    }

    /// The port.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// The base URL, without a trailing slash.
    package var url: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Everything that was asked for.
    package var received: [Request] { requests.all }

    /// Runs a test against a server.
    ///
    /// - Parameters:
    ///   - host: The address of this machine that it listens on.
    ///   - respond: Answers a request.
    ///   - body: The test.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or an error of listening.
    package static func run<Result>(
        on host: String = "127.0.0.1",
        _ respond: @escaping @Sendable (Request) -> Response,
        _ body: (StorageServer) async throws -> Result
    ) async throws -> Result {
        let server = try await StorageServer(on: host, respond)
        do {
            let result = try await body(server)
            try await server.channel.close()
            return result
        } catch {
            try? await server.channel.close()
            throw error
        }
    }

    /// Answers as a storage does that has one file: with all of it, or the part that is asked for.
    package static func serve(
        _ content: Content,
        etag: String? = "\"v1\"",
        to request: Request,
        headers: HTTPHeaders = [:]
    ) -> Response {
        var response = Response(headers: headers, body: content)
        if let etag { response.headers.add(name: "ETag", value: etag) }
        guard
            let range = request.header("Range"), range.hasPrefix("bytes="), range.hasSuffix("-"),
            let start = Int(range.dropFirst("bytes=".count).dropLast()),
            request.header("If-Range").map({ $0 == etag }) ?? true
        else { return response }
        guard start < content.count else {
            response.status = .rangeNotSatisfiable
            response.headers.add(name: "Content-Range", value: "bytes */\(content.count)")
            response.body = Content(bytes: Data("no such range".utf8))
            return response
        }
        response.status = .partialContent
        response.headers.add(name: "Content-Range", value: "bytes \(start)-\(content.count - 1)/\(content.count)")
        response.body = content.dropFirst(start)
        return response
    }
}

private final class RequestLog: Sendable {
    private let requests = NIOLockedValueBox<[StorageServer.Request]>([])

    var all: [StorageServer.Request] { requests.withLockedValue { $0 } }

    func append(_ request: StorageServer.Request) {
        requests.withLockedValue { $0.append(request) }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let keptBody = 1024 * 1024
    private static let chunkSize = 128 * 1024

    private let respond: @Sendable (StorageServer.Request) -> StorageServer.Response
    private let requests: RequestLog
    private var request: StorageServer.Request?
    private var hasher = SHA256()
    /// What is being sent, and how many bytes of it have been.
    private var response: (StorageServer.Response, sent: Int)?

    init(
        respond: @escaping @Sendable (StorageServer.Request) -> StorageServer.Response,
        requests: RequestLog
    ) {
        self.respond = respond
        self.requests = requests
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            request = .init(method: head.method, uri: head.uri, headers: head.headers)
            hasher = SHA256()
        case .body(let chunk):
            request?.size += chunk.readableBytes
            chunk.withUnsafeReadableBytes { hasher.update(bufferPointer: $0) }
            if let size = request?.size, size <= Handler.keptBody { request?.body += Data(chunk.readableBytesView) }
        case .end:
            guard var request else { return }
            request.digest = Data(hasher.finalize())
            requests.append(request)
            let response = respond(request)
            var headers = response.headers
            if response.announcesLength, !headers.contains(name: "Content-Length") {
                headers.add(name: "Content-Length", value: "\(response.body.count)")
            }
            let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
            context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
            self.response = (response, 0)
            send(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Later: this may be called in the middle of a write, between the parts of a chunk.
        let (handler, later) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.loopBound)
        context.eventLoop.execute { handler.value.send(later.value) }
        context.fireChannelWritabilityChanged()
    }

    /// Sends while the channel takes it.
    ///
    /// A write may call this again before it returns: the state is read each time.
    private func send(_ context: ChannelHandlerContext) {
        while let (response, sent) = response {
            let limit =
                switch response.end {
                case .normal: response.body.count
                case .closed(let count), .silent(let count), .held(let count, _): min(count, response.body.count)
                }
            guard sent < limit else {
                self.response = nil
                return end(response, after: sent, context)
            }
            guard context.channel.isWritable else { return }
            let chunk = response.body.slice(sent, min(Handler.chunkSize, limit - sent))
            self.response = (response, sent + chunk.readableBytes)
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(chunk))), promise: nil)
        }
    }

    private func end(_ response: StorageServer.Response, after sent: Int, _ context: ChannelHandlerContext) {
        switch response.end {
        case .normal: context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .closed: context.close(promise: nil)
        case .silent: break
        case .held(_, let gate):
            let eventLoop = context.eventLoop
            let (handler, later) = (NIOLoopBound(self, eventLoop: eventLoop), context.loopBound)
            gate.whenOpen {
                eventLoop.execute { handler.value.sendRest(of: response, from: sent, later.value) }
            }
        }
    }

    private func sendRest(of response: StorageServer.Response, from sent: Int, _ context: ChannelHandlerContext) {
        var rest = response
        rest.end = .normal
        self.response = (rest, sent)
        send(context)
    }
}

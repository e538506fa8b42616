import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncTesting
import Synchronization

@testable import PowerSync

/// A small HTTP server on a loopback port, for tests of the HTTP transport.
final class LoopbackServer: Sendable {
    /// A request with its body.
    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: ByteBuffer
        /// The client's port, which tells connections apart.
        var clientPort: Int?

        /// The only value of a header, in any case.
        func header(_ name: String) -> String? { head.headers.first(name: name) }
    }

    /// What the server does with a request.
    ///
    /// Parts are written one by one, with a flush after each.
    struct Response: Sendable {
        /// How the response ends.
        enum End: Sendable {
            /// With the last chunk.
            case normal
            /// Without it: the connection is closed.
            case abrupt
            /// Not at all.
            case open
        }

        var status = HTTPResponseStatus.ok
        var headers: HTTPHeaders = [:]
        var chunks: [ByteBuffer] = []
        var end = End.normal
    }

    private let channel: any Channel
    private let requests: RequestLog

    /// Starts a server that answers every request in the same way.
    init(_ respond: @escaping @Sendable (Request) -> Response) async throws {
        let requests = RequestLog()
        self.requests = requests
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(respond: respond, requests: requests))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    var url: String { "http://127.0.0.1:\(port)" }

    /// Credentials for the server, with the token `secret`.
    func credentials(path: String = "") throws -> ServiceCredentials {
        ServiceCredentials(endpoint: try ServiceEndpoint(url + path), token: "secret")
    }

    /// The port.
    var port: Int { channel.localAddress?.port ?? 0 }

    /// Everything that was asked for.
    var received: [Request] { requests.all }

    /// Stops accepting connections.
    func stop() async throws {
        try await channel.close()
    }

    /// Runs a test against a server.
    static func run<Result>(
        _ respond: @escaping @Sendable (Request) -> Response,
        _ body: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        let server = try await LoopbackServer(respond)
        do {
            let result = try await body(server)
            try await server.stop()
            return result
        } catch {
            try? await server.stop()
            throw error
        }
    }
}

private final class RequestLog: Sendable {
    private let requests = Mutex<[LoopbackServer.Request]>([])

    var all: [LoopbackServer.Request] { requests.withLock { $0 } }

    func append(_ request: LoopbackServer.Request) {
        requests.withLock { $0.append(request) }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let respond: @Sendable (LoopbackServer.Request) -> LoopbackServer.Response
    private let requests: RequestLog
    private var request: LoopbackServer.Request?

    init(
        respond: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Response,
        requests: RequestLog
    ) {
        self.respond = respond
        self.requests = requests
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            request = LoopbackServer.Request(head: head, body: ByteBuffer(), clientPort: context.remoteAddress?.port)
        case .body(let chunk):
            request?.body.writeImmutableBuffer(chunk)
        case .end:
            guard let request else { return }
            requests.append(request)
            write(respond(request), context)
        }
    }

    private func write(_ response: LoopbackServer.Response, _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        for chunk in response.chunks {
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(chunk))), promise: nil)
        }
        switch response.end {
        case .normal: context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .abrupt: context.close(promise: nil)
        case .open: break
        }
    }
}

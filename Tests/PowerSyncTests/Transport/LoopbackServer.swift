import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncTesting

@testable import PowerSyncClient

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
            /// Not at all, and it does not begin either.
            case unanswered
        }

        var status = HTTPResponseStatus.ok
        var headers: HTTPHeaders = [:]
        var chunks: [ByteBuffer] = []
        var end = End.normal
    }

    private let channel: any Channel
    private let requests: RequestLog
    private let connections = ConnectionLog()

    /// Starts a server that answers every request in the same way.
    init(_ respond: @escaping @Sendable (Request) -> Response) async throws {
        let requests = RequestLog()
        self.requests = requests
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { [connections] channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.opened(channel)
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(respond: respond, requests: requests, connections: connections)
                    )
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

    /// Waits until so many connections are open.
    func waitForConnections(_ count: Int) async throws {
        try await connections.wait(for: count)
    }

    /// Writes bytes of an answer that has no end to everybody.
    func send(_ bytes: ByteBuffer) {
        connections.send(bytes)
    }

    /// Waits until so many requests have arrived.
    func waitForRequests(_ count: Int) async throws {
        try await requests.wait(for: count)
    }

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
    private let requests = NIOLockedValueBox<[LoopbackServer.Request]>([])

    var all: [LoopbackServer.Request] { requests.withLockedValue { $0 } }

    private let changes = Signal()

    func append(_ request: LoopbackServer.Request) {
        requests.withLockedValue { $0.append(request) }
        changes.fire()
    }

    func wait(for count: Int) async throws {
        try await changes.wait { all.count >= count ? () : nil }
    }
}

private final class ConnectionLog: Sendable {
    private let channels = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])
    /// Those with an answer that has no end.
    private let answered = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])
    private let changes = Signal()

    func opened(_ channel: any Channel) {
        channels.withLockedValue { $0[ObjectIdentifier(channel)] = channel }
        changes.fire()
        channel.closeFuture.whenComplete { [self] _ in
            channels.withLockedValue { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
            answered.withLockedValue { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
            changes.fire()
        }
    }

    func wait(for count: Int) async throws {
        try await changes.wait { channels.withLockedValue { $0.count } == count ? () : nil }
    }

    func answered(_ channel: any Channel) {
        answered.withLockedValue { $0[ObjectIdentifier(channel)] = channel }
    }

    func send(_ bytes: ByteBuffer) {
        for channel in answered.withLockedValue({ Array($0.values) }) {
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
        }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let respond: @Sendable (LoopbackServer.Request) -> LoopbackServer.Response
    private let requests: RequestLog
    private let connections: ConnectionLog
    private var request: LoopbackServer.Request?

    init(
        respond: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Response,
        requests: RequestLog,
        connections: ConnectionLog
    ) {
        self.connections = connections
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
        if case .unanswered = response.end { return }
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        for chunk in response.chunks {
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(chunk))), promise: nil)
        }
        switch response.end {
        case .normal: context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .abrupt: context.close(promise: nil)
        case .open: connections.answered(context.channel)
        case .unanswered: break
        }
    }
}

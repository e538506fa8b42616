import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP proxy on a loopback port that passes on the head of a response at once, and keeps its body.
package final class BufferingProxy: Sendable {
    /// For how long a body is kept.
    package enum Patience: Sendable {
        /// Until ``release()``, of all responses.
        case untilTold
        /// Until its end.
        case untilEnd
        /// Not at all, but each byte is sent in a chunk of its own.
        case byteByByte
    }

    /// What the proxy says of itself in each response.
    package static let via = "1.1 buffering-proxy"

    private let server: any Channel
    private let bodies: HeldBodies

    /// Starts a proxy for the server on a port of this machine.
    package init(to port: Int, keepingBodies patience: Patience = .untilTold) async throws {
        let bodies = HeldBodies(patience)
        self.bodies = bodies
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(RequestHandler(to: port, bodies))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    package var url: String { "http://127.0.0.1:\(server.localAddress?.port ?? 0)" }

    /// Passes on what was kept, and from now on everything at once.
    package func release() { bodies.release() }

    /// Stops accepting connections.
    package func stop() async throws {
        try await server.close()
    }
}

/// The parts of responses that clients have not got.
private final class HeldBodies: Sendable {
    private struct State {
        var isReleased = false
        var parts: [(client: any Channel, part: HTTPServerResponsePart)] = []
    }

    let patience: BufferingProxy.Patience
    private let state = NIOLockedValueBox(State())

    init(_ patience: BufferingProxy.Patience) {
        self.patience = patience
    }

    func pass(_ part: HTTPServerResponsePart, to client: any Channel) {
        let isReleased = state.withLockedValue { state in
            if !state.isReleased { state.parts.append((client, part)) }
            return state.isReleased
        }
        if isReleased { client.writeAndFlush(part, promise: nil) }
    }

    func release() {
        let parts = state.withLockedValue { state in
            defer { state.parts = [] }
            state.isReleased = true
            return state.parts
        }
        for (client, part) in parts { client.writeAndFlush(part, promise: nil) }
    }
}

/// Sends each request to the server, over a connection of its own.
private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let port: Int
    private let bodies: HeldBodies
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var upstream: EventLoopFuture<any Channel>?

    init(to port: Int, _ bodies: HeldBodies) {
        self.port = port
        self.bodies = bodies
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes): body.writeImmutableBuffer(bytes)
        case .end:
            guard let head else { return }
            let (client, bodies, body) = (context.channel, bodies, body)
            let upstream = ClientBootstrap(group: context.eventLoop)
                .channelInitializer { server in
                    server.eventLoop.makeCompletedFuture {
                        try server.pipeline.syncOperations.addHTTPClientHandlers()
                        try server.pipeline.syncOperations.addHandler(ResponseHandler(to: client, bodies))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
            upstream.whenSuccess { server in
                server.write(HTTPClientRequestPart.head(head), promise: nil)
                server.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
                server.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            }
            self.upstream = upstream
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        upstream?.whenSuccess { $0.close(promise: nil) }
    }
}

private final class ResponseHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let client: any Channel
    private let bodies: HeldBodies
    /// What is kept until the end.
    private var kept: [HTTPServerResponsePart] = []

    init(to client: any Channel, _ bodies: HeldBodies) {
        self.client = client
        self.bodies = bodies
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            head.headers.add(name: "Via", value: BufferingProxy.via)
            if bodies.patience == .byteByByte {
                head.headers.remove(name: "Content-Length")
                head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
            }
            client.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
        case .body(let bytes): pass(.body(.byteBuffer(bytes)))
        case .end(let trailers):
            pass(.end(trailers))
            for part in kept { client.write(part, promise: nil) }
            client.flush()
        }
    }

    private func pass(_ part: HTTPServerResponsePart) {
        switch bodies.patience {
        case .untilTold: bodies.pass(part, to: client)
        case .untilEnd: kept.append(part)
        case .byteByByte: sendByteByByte(part)
        }
    }

    private func sendByteByByte(_ part: HTTPServerResponsePart) {
        guard case .body(.byteBuffer(let bytes)) = part else { return client.writeAndFlush(part, promise: nil) }
        for byte in bytes.readableBytesView {
            client.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: [byte]))), promise: nil)
        }
        client.flush()
    }
}

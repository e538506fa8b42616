import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncProtocol

/// An HTTP service that sends as much as its clients read: on each connection the same lines in BSON.
final class BulkServer: Sendable {
    private let channel: any Channel
    private let sent = SentBytes()

    /// Starts a server; `first` follows each request at once, and `rest` when the server is told.
    init(first: SyncLine, rest: [ByteBuffer]) async throws {
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            // So that what the system buffers here counts little.
            .childChannelOption(.socketOption(.so_sndbuf), value: 64 * 1024)
            .childChannelInitializer { [sent] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(BulkHandler(first: first, rest: rest, sent))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// The bytes of the rest that the system has taken, for each request in order.
    var sentBytes: [Int] { sent.counts }

    /// Sends the rest to those who have asked, and to those who ask from now on.
    func start() { sent.start() }

    func stop() async throws {
        try await channel.close()
    }
}

private final class SentBytes: Sendable {
    private struct State {
        var isStarted = false
        var counts: [Int] = []
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = NIOLockedValueBox(State())

    var counts: [Int] { state.withLockedValue { $0.counts } }

    func start() {
        let waiting = state.withLockedValue { state in
            defer { state.waiting = [] }
            state.isStarted = true
            return state.waiting
        }
        for begin in waiting { begin() }
    }

    /// - Returns: The number of the request.
    func requested(_ begin: @escaping @Sendable () -> Void) -> Int {
        let (number, isStarted) = state.withLockedValue { state in
            state.counts.append(0)
            if !state.isStarted { state.waiting.append(begin) }
            return (state.counts.count - 1, state.isStarted)
        }
        if isStarted { begin() }
        return number
    }

    func sent(_ bytes: Int, for number: Int) {
        state.withLockedValue { $0.counts[number] += bytes }
    }
}

private final class BulkHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let first: SyncLine
    private var rest: ArraySlice<ByteBuffer>
    private let sent: SentBytes
    private var number = 0

    init(first: SyncLine, rest: [ByteBuffer], _ sent: SentBytes) {
        self.first = first
        self.rest = rest[...]
        self.sent = sent
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let head = HTTPResponseHead(
            version: .http1_1,
            status: .ok,
            headers: ["Content-Type": SyncLineFormat.bson.mediaType]
        )
        var line = ByteBuffer()
        first.encode(as: .bson, into: &line)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(line))), promise: nil)
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        number = sent.requested {
            eventLoop.execute { bound.value.handler.sendNext(bound.value.context) }
        }
    }

    /// Sends a piece, and the next one when the system has taken it.
    private func sendNext(_ context: ChannelHandlerContext) {
        guard let piece = rest.popFirst() else {
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            return
        }
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece)))).whenSuccess {
            let (handler, context) = bound.value
            handler.sent.sent(piece.readableBytes, for: handler.number)
            handler.sendNext(context)
        }
    }
}

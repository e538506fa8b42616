import Foundation
import LocalDatabaseWorker
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncProtocol
import TestSupport

/// Puts a ``ModelService`` behind a loopback port: sync streams in NDJSON, write checkpoints, and uploads of workers.
final class ModelHTTPServer: Sendable {
    /// The model has changed; sent to the handlers of open connections.
    fileprivate struct Change: Sendable {}

    let model: ModelService
    private let server: any Channel
    private let connections: Connections

    init(_ model: ModelService) async throws {
        let connections = Connections()
        self.model = model
        self.connections = connections
        server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ModelHandler(model, connections))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    var url: String { "http://127.0.0.1:\(server.localAddress?.port ?? 0)" }

    /// Sends what has changed to all clients.
    func push() { connections.push() }

    /// Ends all connections, and accepts no more.
    func stop() async throws {
        try await server.close()
        connections.close()
    }

    /// The connections that are open.
    fileprivate final class Connections: Sendable {
        private let channels = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])

        func add(_ channel: any Channel) {
            let id = ObjectIdentifier(channel)
            channels.withLockedValue { $0[id] = channel }
            channel.closeFuture.whenComplete { _ in self.channels.withLockedValue { $0[id] = nil } }
        }

        func push() {
            for channel in channels.withLockedValue({ Array($0.values) }) {
                channel.pipeline.fireUserInboundEventTriggered(Change())
            }
        }

        func close() {
            for channel in channels.withLockedValue({ Array($0.values) }) { channel.close(promise: nil) }
        }
    }
}

/// Answers the requests of one connection.
private final class ModelHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let model: ModelService
    private let connections: ModelHTTPServer.Connections
    private var request: HTTPRequestHead?
    private var body = ByteBuffer()
    /// The stream that this connection carries.
    private var session: ModelSession?

    init(_ model: ModelService, _ connections: ModelHTTPServer.Connections) {
        self.model = model
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            request = head
            body.clear()
        case .body(let chunk):
            body.writeImmutableBuffer(chunk)
        case .end:
            if let request { answer(request, context) }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ModelHTTPServer.Change {
            sendLines(context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func answer(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        if request.uri == "/sync/stream", let streamRequest = try? StreamingSyncRequest(json: body) {
            session = ModelSession(streamRequest)
            start(.ok, type: SyncLineFormat.ndjson.mediaType, context)
            sendLines(context)
        } else if request.uri.hasPrefix("/write-checkpoint2.json?client_id=") {
            let clientID = String(request.uri.drop { $0 != "=" }.dropFirst())
            answer(#"{"data":{"write_checkpoint":"\#(model.writeCheckpoint(clientID))"}}"#, context)
            connections.push()
        } else if request.uri == WorkerUpload.path,
            let uploads = try? JSONDecoder().decode([WorkerUpload].self, from: Data(body.readableBytesView))
        {
            model.upload(uploads.map { ModelService.Upload(row: $0.row, value: $0.title, entry: $0.entry) })
            answer("{}", context)
            connections.push()
        } else {
            start(.notFound, type: "text/plain", context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    private func start(_ status: HTTPResponseStatus, type: String, _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: ["Content-Type": type])
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func answer(_ json: String, _ context: ChannelHandlerContext) {
        start(.ok, type: "application/json", context)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: json)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func sendLines(_ context: ChannelHandlerContext) {
        guard var session else { return }
        for line in model.nextLines(&session) {
            var text = ByteBuffer()
            line.encode(as: .ndjson, into: &text)
            // Flushed one by one: a client may be killed between any two.
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        }
        self.session = session
    }
}

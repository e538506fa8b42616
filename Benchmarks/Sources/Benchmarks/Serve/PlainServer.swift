import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The floor of the `serve` benchmarks: a server that knows nothing, and writes bytes of the same number to its connections.
///
/// | first line of the request | answer |
/// | --- | --- |
/// | `GET /stream` | the bytes of an idle stream, and of one change for each broadcast |
/// | `GET /bulk` | as many bytes as asked for |
/// | `GET /broadcast` and a text | one change for all streams, with the text in it |
struct PlainServer: Codable {
    /// How many bytes `GET /bulk` is answered with.
    var bulkBytes: Int

    /// What ends every answer, as in a sync stream.
    private static let end = #"{"checkpoint_complete":{"last_op_id":"1"}}"# + "\n"

    /// The child: serves, tells where, and ends when its input does.
    func run() async throws {
        let streams = Streams()
        let bulkBytes = bulkBytes
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 4_096)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(streams: streams, bulkBytes: bulkBytes))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        try ChildProcess.report(ServiceProcess.Address(url: "http://127.0.0.1:\(port)", token: ""))
        await ServiceProcess.endOfInput()
        try await server.close()
    }

    /// The connections that wait for broadcasts.
    private final class Streams: Sendable {
        private let channels = NIOLockedValueBox<[any Channel]>([])

        func add(_ channel: any Channel) { channels.withLockedValue { $0.append(channel) } }

        func broadcast(_ text: Substring) {
            let change = ByteBuffer(string: String(repeating: "x", count: 500) + text + PlainServer.end)
            for channel in channels.withLockedValue({ $0 }) { channel.writeAndFlush(change, promise: nil) }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        /// About the length of a line of 1,000 operations.
        private static let chunk = ByteBuffer(repeating: UInt8(ascii: "x"), count: 300_000)

        private let streams: Streams
        private var bulkBytes: Int
        private var isWriting = false

        init(streams: Streams, bulkBytes: Int) {
            self.streams = streams
            self.bulkBytes = bulkBytes
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let request = String(buffer: unwrapInboundIn(data))
            if request.hasPrefix("GET /bulk") {
                isWriting = true
                writeBulk(context)
            } else if request.hasPrefix("GET /broadcast") {
                streams.broadcast(request.prefix { $0 != "\r\n" }.dropFirst("GET /broadcast".count))
            } else {
                streams.add(context.channel)
                let answer = String(repeating: "x", count: 500) + PlainServer.end
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            }
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if isWriting { writeBulk(context) }
        }

        private func writeBulk(_ context: ChannelHandlerContext) {
            while context.channel.isWritable, bulkBytes > 0 {
                bulkBytes -= Self.chunk.readableBytes
                context.writeAndFlush(wrapOutboundOut(Self.chunk), promise: nil)
            }
            guard bulkBytes <= 0, isWriting else { return }
            isWriting = false
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: PlainServer.end)), promise: nil)
        }
    }
}

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port that passes bytes on to a PostgreSQL server, and cuts change streams after so many bytes of the server.
final class CuttingStreamProxy: Sendable {
    /// Passes bytes on, as many as it may.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let target: any Channel
        /// Takes what may be passed on; what is left is not.
        private let take: @Sendable (inout ByteBuffer) -> ByteBuffer

        init(to target: any Channel, _ take: @escaping @Sendable (inout ByteBuffer) -> ByteBuffer) {
            self.target = target
            self.take = take
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            let passed = take(&bytes)
            target.writeAndFlush(passed, promise: nil)
            if bytes.readableBytes > 0 { context.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            target.close(promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    private let channel: any Channel
    private let limit: NIOLockedValueBox<Int>

    /// Starts a proxy for the server on a port of this machine, which cuts nothing at first.
    init(to port: Int) async throws {
        let limit = NIOLockedValueBox(Int.max)
        self.limit = limit
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                // What is left of a change stream; `nil` until there is one.
                let left = NIOLockedValueBox<Int?>(nil)
                return ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        let fromClient = Handler(to: server) { bytes in
                            let all = bytes.readSlice(length: bytes.readableBytes) ?? ByteBuffer()
                            if String(buffer: all).contains("START_REPLICATION") {
                                left.withLockedValue { $0 = limit.withLockedValue(\.self) }
                            }
                            return all
                        }
                        let fromServer = Handler(to: client) { bytes in
                            let length = left.withLockedValue { left in
                                let length = min(bytes.readableBytes, left ?? bytes.readableBytes)
                                left = left.map { $0 - length }
                                return length
                            }
                            return bytes.readSlice(length: length) ?? ByteBuffer()
                        }
                        try client.pipeline.syncOperations.addHandler(fromClient)
                        try server.pipeline.syncOperations.addHandler(fromServer)
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The port.
    var port: Int { channel.localAddress?.port ?? 0 }

    /// From now on, change streams that begin are cut after so many bytes.
    func cutStreams(after bytes: Int) { limit.withLockedValue { $0 = bytes } }

    /// Stops accepting connections.
    func stop() async throws {
        try await channel.close()
    }
}

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port before a database server, which ends a connection at its first `COMMIT`.
final class CommitProxy: Sendable {
    /// When the connection ends.
    enum Cut: String, CaseIterable, Sendable {
        /// The server does not get the statement.
        case before
        /// The server gets it, and its answer is thrown away.
        case during
        /// The answer arrives, and the connection ends behind it.
        case after
    }

    /// Passes the bytes of one side on to the other.
    private final class Side: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel
        private let isServer: Bool
        private let proxy: CommitProxy
        private let connection: NIOLockedValueBox<Bool>

        init(_ other: any Channel, isServer: Bool, _ proxy: CommitProxy, _ connection: NIOLockedValueBox<Bool>) {
            self.other = other
            self.isServer = isServer
            self.proxy = proxy
            self.connection = connection
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if isServer, connection.withLockedValue({ $0 }) {
                // The answer to the statement.
                if proxy.cut == .after { other.writeAndFlush(bytes, promise: nil) }
                other.close(promise: nil)
                context.close(promise: nil)
                return
            }
            if !isServer, String(decoding: bytes.readableBytesView, as: UTF8.self).contains("COMMIT"), proxy.takeCut() {
                guard proxy.cut != .before else {
                    other.close(promise: nil)
                    context.close(promise: nil)
                    return
                }
                connection.withLockedValue { $0 = true }
            }
            other.writeAndFlush(bytes, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let cut: Cut
    /// How many statements pass before the one at which the connection ends; `nil` when that was.
    private let left: NIOLockedValueBox<Int?>
    private let listener = NIOLockedValueBox<(any Channel)?>(nil)

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - port: Of the server, on this machine.
    ///   - cut: When the connection ends.
    ///   - passed: How many times `COMMIT` passes before.
    /// - Throws: When there is no free port.
    init(to port: Int, _ cut: Cut, after passed: Int) async throws {
        self.cut = cut
        left = NIOLockedValueBox(passed)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] client in
                ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { [self] server in
                        let connection = NIOLockedValueBox(false)
                        try client.pipeline.syncOperations.addHandler(Side(server, isServer: false, self, connection))
                        try server.pipeline.syncOperations.addHandler(Side(client, isServer: true, self, connection))
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        listener.withLockedValue { $0 = channel }
    }

    /// Its port.
    var port: Int { listener.withLockedValue { $0?.localAddress?.port ?? 0 } }

    /// Whether the connection has been ended.
    var hasCut: Bool { left.withLockedValue { $0 == nil } }

    func stop() async throws { try await listener.withLockedValue { $0 }?.close() }

    private func takeCut() -> Bool {
        left.withLockedValue { left in
            guard let count = left else { return false }
            left = count == 0 ? nil : count - 1
            return count == 0
        }
    }
}

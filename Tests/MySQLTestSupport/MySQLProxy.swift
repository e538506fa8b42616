import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix

/// A loopback port that passes bytes on to a server: it changes them, records them, and drops them when it is told to.
package final class MySQLProxy: Sendable {
    /// Changes what the server sends: once for what was read from a socket.
    package typealias Change = @Sendable (_ bytes: inout ByteBuffer) -> Void

    fileprivate struct State {
        var fromClients = ByteBuffer()
        /// Sockets of clients.
        var open = 0
        var accepted = 0
        var isFrozen = false
        var change: Change?
        var waiters: [(condition: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// What a handler of one side does.
    private final class Side: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let target: any Channel
        private let proxy: MySQLProxy
        private let isServer: Bool

        init(_ proxy: MySQLProxy, to target: any Channel, isServer: Bool) {
            self.proxy = proxy
            self.target = target
            self.isServer = isServer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if let bytes = proxy.pass(unwrapInboundIn(data), isServer: isServer) {
                target.writeAndFlush(bytes, promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            if !isServer { proxy.update { $0.open -= 1 } }
            if !proxy.isFrozen { target.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let state = NIOLockedValueBox(State())
    private let listener = NIOLockedValueBox<(any Channel)?>(nil)
    private let sockets = NIOLockedValueBox<[any Channel]>([])

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - port: Of the server, on this machine.
    ///   - change: Changes what the server sends.
    /// - Throws: When there is no free port.
    package init(to port: Int, change: Change? = nil) async throws {
        state.withLockedValue { $0.change = change }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] client in
                ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { [self] server in
                        try client.pipeline.syncOperations.addHandler(Side(self, to: server, isServer: false))
                        try server.pipeline.syncOperations.addHandler(Side(self, to: client, isServer: true))
                        sockets.withLockedValue { $0 = $0.filter(\.isActive) + [client, server] }
                        update {
                            $0.open += 1
                            $0.accepted += 1
                        }
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        listener.withLockedValue { $0 = channel }
    }

    /// Its port.
    package var port: Int { listener.withLockedValue { $0?.localAddress?.port ?? 0 } }

    /// All that clients have sent.
    package var fromClients: ByteBuffer { state.withLockedValue { $0.fromClients } }

    /// How many connections there have been.
    package var accepted: Int { state.withLockedValue { $0.accepted } }

    /// Drops all bytes in both directions from now on, also those of new connections; both sides stay open.
    package func freeze() { update { $0.isFrozen = true } }

    /// Passes bytes on again; what was dropped is lost, and connections of before are closed.
    package func thaw() async throws {
        update { $0.isFrozen = false }
        cut()
    }

    /// Closes the connections there are.
    package func cut() {
        let sockets = sockets.withLockedValue { sockets in
            defer { sockets = [] }
            return sockets
        }
        for socket in sockets { socket.close(promise: nil) }
    }

    /// Waits until no connection of a client is open.
    package func allClosed() async { await wait { $0.open == 0 } }

    /// Waits until there have been so many connections.
    package func accepted(_ count: Int) async { await wait { $0.accepted >= count } }

    /// Waits until clients have sent a text.
    package func clientsSent(_ text: String) async {
        await wait { state in
            String(decoding: state.fromClients.readableBytesView, as: UTF8.self).contains(text)
        }
    }

    /// Stops accepting connections, and closes those there are.
    package func stop() async throws {
        try await listener.withLockedValue { $0 }?.close()
        cut()
    }

    private var isFrozen: Bool { state.withLockedValue { $0.isFrozen } }

    private func pass(_ bytes: ByteBuffer, isServer: Bool) -> ByteBuffer? {
        let (isFrozen, change) = state.withLockedValue { ($0.isFrozen, $0.change) }
        guard !isFrozen else { return nil }
        var bytes = bytes
        if isServer {
            change?(&bytes)
        } else {
            // The first megabyte is enough for every test.
            update { if $0.fromClients.readableBytes < 1 << 20 { $0.fromClients.writeImmutableBuffer(bytes) } }
        }
        return bytes
    }

    private func update(_ change: (inout State) -> Void) {
        let ready = state.withLockedValue { state in
            change(&state)
            let now = state
            defer { state.waiters.removeAll { $0.condition(now) } }
            return now.waiters.filter { $0.condition(now) }
        }
        for (_, continuation) in ready { continuation.resume() }
    }

    private func wait(_ condition: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLockedValue { state in
                guard !condition(state) else { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

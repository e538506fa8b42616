import Logging
import MySQLNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP connection as packets in both directions.
///
/// Connecting needs no wait of its own: the server speaks first, and why it does not is the end of the inbox.
final class PacketChannel: Sendable {
    private struct State {
        var channel: (any Channel)?
        var isClosed = false
    }

    private let inbox = PacketInbox()
    private let eventLoop: any EventLoop
    private let state = NIOLockedValueBox(State())

    /// Begins to connect, and returns at once.
    init(_ settings: MySQLConnectionSettings, logger: Logger) {
        eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let inbox = inbox
        let allows = settings.allows
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .connectTimeout(TimeAmount(settings.connectTimeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SocketHandler(inbox, allows: allows))
                }
            }
            .connect(host: settings.host, port: settings.port)
            .whenComplete { [self] result in
                switch result {
                case .failure(let error): inbox.end(MySQLConnectionError(connecting: error, to: settings))
                case .success(let channel): begin(channel, logger)
                }
            }
    }

    /// Adds the handlers of packets, and lets the first bytes in.
    private func begin(_ channel: any Channel, _ logger: Logger) {
        let isClosed = state.withLockedValue { state in
            state.channel = channel
            return state.isClosed
        }
        guard !isClosed else { return channel.close(promise: nil) }
        do {
            let sequence = MySQLPacketSequence()
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(MySQLPacketDecoder(sequence: sequence, logger: logger)),
                MessageToByteHandler(MySQLPacketEncoder(sequence: sequence, logger: logger)),
                PacketHandler(inbox, sequence)
            )
            PacketHandler.applyReading(inbox, channel)
        } catch {
            inbox.end(MySQLConnectionError(.lost, "The connection ended at its beginning."))
            channel.close(promise: nil)
        }
    }

    deinit { close() }

    /// Sends a packet.
    func send(_ packet: PacketHandler.Outgoing) {
        state.withLockedValue { $0.channel }?.writeAndFlush(packet, promise: nil)
    }

    /// Whether packets can still come.
    var isOpen: Bool { !inbox.hasEnded }

    /// Sets how many bytes may have arrived and not been taken before the socket is not read from.
    func setLimit(_ bytes: Int) { inbox.setLimit(bytes) }

    /// Takes packets that have arrived, and does not wait.
    func takeArrived() throws -> CircularBuffer<ByteBuffer>? {
        try inbox.takeArrived { [state, inbox] in
            guard let channel = state.withLockedValue({ $0.channel }) else { return }
            channel.eventLoop.execute { PacketHandler.applyReading(inbox, channel) }
        }
    }

    /// Takes packets, and waits for one if there is none.
    ///
    /// - Throws: `CancellationError`, ``MySQLConnectionError``.
    func take(_ limit: PacketInbox.Limit) async throws -> CircularBuffer<ByteBuffer> {
        try Task.checkCancellation()
        if let packets = try takeArrived() { return packets }
        return try await inbox.wait(limit, on: eventLoop)
    }

    /// Closes the connection; a task that waits for packets throws `.closed`.
    ///
    /// - Parameter farewell: A last command.
    func close(_ farewell: ByteBuffer? = nil) {
        inbox.end(MySQLConnectionError(.closed, "The connection was closed."))
        let channel = state.withLockedValue { state in
            state.isClosed = true
            return state.channel
        }
        guard let channel else { return }
        channel.eventLoop.execute {
            if let farewell { channel.writeAndFlush(PacketHandler.Outgoing.command(farewell), promise: nil) }
            if let socket = try? channel.pipeline.syncOperations.context(handlerType: SocketHandler.self) {
                socket.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }
    }
}

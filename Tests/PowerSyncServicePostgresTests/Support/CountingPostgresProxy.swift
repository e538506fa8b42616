import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port that passes bytes on to a PostgreSQL server, and counts what clients ask for, without encryption.
///
///     first message = length (Int32, with itself) rest
///     each other    = letter, length (Int32, with itself) rest
final class CountingPostgresProxy: Sendable {
    /// What clients have asked for.
    struct Counts: Sendable, Equatable {
        /// Statements that ran (`Bind`).
        var statements = 0
        /// Texts that the server has parsed (`Parse`).
        var texts = 0
        /// How often clients have waited for statements (`Sync`).
        ///
        /// Not for those of the simple protocol (`Query`), such as the question whether a connection that was idle for a second is still there.
        var roundTrips = 0

        fileprivate mutating func count(_ letter: UInt8) {
            switch letter {
            case UInt8(ascii: "B"): statements += 1
            case UInt8(ascii: "P"): texts += 1
            case UInt8(ascii: "S"): roundTrips += 1
            default: break
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let target: any Channel
        private let look: (ByteBuffer) -> Void

        init(to target: any Channel, _ look: @escaping (ByteBuffer) -> Void = { _ in }) {
            self.target = target
            self.look = look
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            look(bytes)
            target.writeAndFlush(bytes, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            target.close(promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    private let channel: any Channel
    private let counts: NIOLockedValueBox<Counts>

    /// Starts a proxy for the server on a port of this machine.
    init(to port: Int) async throws {
        let counts = NIOLockedValueBox(Counts())
        self.counts = counts
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        var isFirst = true
                        var rest = ByteBuffer()
                        let fromClient = Handler(to: server) { bytes in
                            rest.writeImmutableBuffer(bytes)
                            while let letter = Self.takeMessage(&rest, isFirst: isFirst) {
                                isFirst = false
                                counts.withLockedValue { $0.count(letter) }
                            }
                        }
                        try client.pipeline.syncOperations.addHandler(fromClient)
                        try server.pipeline.syncOperations.addHandler(Handler(to: client))
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// Takes a message.
    ///
    /// - Returns: Its letter, 0 for the first one; `nil` when not all of it is there.
    private static func takeMessage(_ bytes: inout ByteBuffer, isFirst: Bool) -> UInt8? {
        let start = bytes.readerIndex
        let letter = isFirst ? 0 : bytes.getInteger(at: start, as: UInt8.self)
        let lengthIndex = isFirst ? start : start + 1
        guard let letter, let length = bytes.getInteger(at: lengthIndex, as: Int32.self),
            bytes.readableBytes >= lengthIndex - start + Int(length)
        else { return nil }
        bytes.moveReaderIndex(to: lengthIndex + Int(length))
        return letter
    }

    /// The port.
    var port: Int { channel.localAddress?.port ?? 0 }

    /// What has been asked for since the last call.
    func take() -> Counts {
        counts.withLockedValue { counts in
            defer { counts = Counts() }
            return counts
        }
    }

    /// Stops accepting connections.
    func stop() async throws {
        try await channel.close()
    }
}

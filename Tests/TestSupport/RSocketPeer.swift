package import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
package import RSocket

/// One end of a WebSocket that sends and receives RSocket frames as a test says, right or wrong.
package struct RSocketPeer: ~Copyable {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel

    private typealias Messages = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static let maximumLength = 256 * 1024 * 1024

    /// Waits for a frame.
    ///
    /// - Returns: `nil` when the other end has closed the connection.
    package mutating func next() async throws -> Frame? {
        guard let message = try await inbound.next(isolation: #isolation) else { return nil }
        return try Frame(decoding: message, maximumLength: Self.maximumLength)
    }

    /// Sends frames.
    package func send(_ frames: Frame...) async throws {
        try await send(frames)
    }

    /// Sends frames, all at once.
    package func send(_ frames: [Frame]) async throws {
        try await outbound.write(contentsOf: frames.map { try $0.encoded() })
    }

    /// Sends a message that may be anything.
    package func send(message: ByteBuffer) async throws {
        try await outbound.write(message)
    }

    /// Sends bytes below the WebSocket: half a frame, a frame that nobody should send.
    package func send(raw bytes: ByteBuffer) async throws {
        try await channel.triggerUserOutboundEvent(RawSocketHandler.Event.send(bytes)).get()
    }

    /// Closes the socket, without a close frame.
    package func closeAbruptly() async throws {
        try await leave(.close)
    }

    /// Leaves without a close frame.
    package func leave(_ departure: AbruptDeparture) async throws {
        try await channel.triggerUserOutboundEvent(RawSocketHandler.Event.leave(departure)).get()
    }

    /// Opens a connection to a service, and closes it after a closure.
    package static func connect<Result>(
        port: Int,
        path: String = "/sync/stream",
        _ body: (inout RSocketPeer) async throws -> Result
    ) async throws -> Result {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<Messages>(maxFrameSize: maximumLength) {
                        channel,
                        _ in
                        channel.eventLoop.makeCompletedFuture { try messages(on: channel, .client) }
                    }
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: NIOUpgradableHTTPClientPipelineConfiguration(
                            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                                upgradeRequestHead: HTTPRequestHead(
                                    version: .http1_1,
                                    method: .GET,
                                    uri: path,
                                    headers: ["Host": "127.0.0.1:\(port)"]
                                ),
                                upgraders: [upgrader],
                                notUpgradingCompletionHandler: { $0.eventLoop.makeFailedFuture(NotUpgraded()) }
                            )
                        )
                    )
                }
            }
            .get()
        return try await channel.executeThenClose { inbound, outbound in
            var peer = RSocketPeer(
                inbound: inbound.makeAsyncIterator(),
                outbound: outbound,
                channel: channel.channel
            )
            return try await body(&peer)
        }
    }

    /// Runs a service whose connections are answered by a script, one after the other.
    ///
    /// - Parameters:
    ///   - extensions: The WebSocket extensions that the service answers with; `nil` for none.
    ///   - script: Answers a connection, which is closed afterwards.
    ///   - body: Called with the port.
    /// - Returns: The result of `body`.
    /// - Throws: What `script` or `body` throws.
    package static func serve<Result>(
        extensions: String? = nil,
        _ script: @escaping @Sendable (inout RSocketPeer) async throws -> Void,
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketServerUpgrader<Messages>(
                        maxFrameSize: maximumLength,
                        shouldUpgrade: { channel, _ in
                            var headers = HTTPHeaders()
                            if let extensions { headers.add(name: "Sec-WebSocket-Extensions", value: extensions) }
                            return channel.eventLoop.makeSucceededFuture(headers)
                        },
                        upgradePipelineHandler: { channel, _ in
                            channel.eventLoop.makeCompletedFuture { try messages(on: channel, .service) }
                        }
                    )
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
                        configuration: NIOUpgradableHTTPServerPipelineConfiguration(
                            upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                                upgraders: [upgrader],
                                notUpgradingCompletionHandler: { $0.eventLoop.makeFailedFuture(NotUpgraded()) }
                            )
                        )
                    )
                }
            }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { connections in
                    for try await connection in connections {
                        // One that has closed before it was a WebSocket has nothing to say.
                        guard let channel = try? await connection.get() else { continue }
                        try await channel.executeThenClose { inbound, outbound in
                            var peer = RSocketPeer(
                                inbound: inbound.makeAsyncIterator(),
                                outbound: outbound,
                                channel: channel.channel
                            )
                            try await script(&peer)
                        }
                    }
                }
            }
            let result = try await body(server.channel.localAddress?.port ?? 0)
            group.cancelAll()
            while let end = await group.nextResult() {
                if case .failure(let error) = end, !(error is CancellationError) { throw error }
            }
            return result
        }
    }

    private static func messages(on channel: any Channel, _ role: WebSocketMessageHandler.Role) throws -> Messages {
        try channel.pipeline.syncOperations.addHandler(RawSocketHandler(), position: .first)
        try channel.pipeline.syncOperations.addHandler(
            WebSocketMessageHandler(role: role, maximumMessageLength: maximumLength)
        )
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    /// The other end did not open a WebSocket.
    private struct NotUpgraded: Error {}
}

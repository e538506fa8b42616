import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port whose connections go to others, one after the other: any node serves any request of any client.
struct Balancer: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private typealias Server = NIOAsyncChannel<Connection, Never>

    /// Where connections go.
    private let targets: [Int]
    private let counts: NIOLockedValueBox<[Int]>

    /// Creates a balancer.
    ///
    /// - Parameter targets: Ports of this machine, at least one.
    init(to targets: [Int]) {
        self.targets = targets
        counts = NIOLockedValueBox(targets.map { _ in 0 })
    }

    /// How many connections each target has got.
    var connectionCounts: [Int] { counts.withLockedValue(\.self) }

    /// Passes connections on for as long as a closure runs, and closes all of them then.
    ///
    /// - Parameters:
    ///   - port: Where to listen; 0 for any free port.
    ///   - body: Gets the port.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or an `IOError` when the port cannot be had.
    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @Sendable (_ port: Int) async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let server = try await listen(on: port)
            group.addTask { try await accept(server) }
            return try await body(server.channel.localAddress?.port ?? port)
        }
    }

    private func listen(on port: Int) async throws -> Server {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
    }

    private func accept(_ server: Server) async throws {
        try await server.executeThenClose { clients in
            try await withThrowingDiscardingTaskGroup { connections in
                var next = 0
                for try await client in clients {
                    let target = next
                    next = (next + 1) % targets.count
                    counts.withLockedValue { $0[target] += 1 }
                    connections.addTask { await pass(client, to: targets[target]) }
                }
                connections.cancelAll()
            }
        }
    }

    /// Passes the bytes of a connection on in both directions, until one end closes it.
    private func pass(_ client: Connection, to target: Int) async {
        // A target that is not there, or a connection that breaks: the client sees its connection end.
        try? await client.executeThenClose { fromClient, toClient in
            let node = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: target) { channel in
                    channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
                }
            try await node.executeThenClose { fromNode, toNode in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await bytes in fromClient { try await toNode.write(bytes) } }
                    group.addTask { for try await bytes in fromNode { try await toClient.write(bytes) } }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        }
    }
}

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port that passes bytes on to another port, and cuts all connections when clients have sent so many bytes.
package final class CuttingProxy: Sendable {
    private struct State {
        /// After how many more bytes of the clients each cut is.
        var distances: [Int]
        var sinceCut = 0
        var sent = 0
        var open: [ObjectIdentifier: any Channel] = [:]

        /// So many bytes of a client have come.
        ///
        /// - Returns: What is to be closed; nothing without a cut.
        mutating func received(_ count: Int) -> [any Channel] {
            sent += count
            sinceCut += count
            guard let distance = distances.first, sinceCut >= distance else { return [] }
            distances.removeFirst()
            sinceCut = 0
            defer { open = [:] }
            return Array(open.values)
        }
    }

    private let channel: any Channel
    private let state: NIOLockedValueBox<State>

    /// Starts a proxy for the server on a port of this machine.
    ///
    /// - Parameters:
    ///   - port: The port of the server.
    ///   - distances: After how many bytes of the clients the first cut is, how many more the second, and so on.
    /// - Throws: An error of listening.
    package init(to port: Int, cuttingAfter distances: [Int]) async throws {
        let state = NIOLockedValueBox(State(distances: distances))
        self.state = state
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                state.withLockedValue { $0.open[ObjectIdentifier(client)] = client }
                client.closeFuture.whenComplete { _ in
                    state.withLockedValue { $0.open[ObjectIdentifier(client)] = nil }
                }
                return ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        let fromClient = PassOnHandler(to: server) { bytes in
                            guard let bytes else { return false }
                            let cut = state.withLockedValue { $0.received(bytes.readableBytes) }
                            for channel in cut { channel.close(promise: nil) }
                            return !cut.isEmpty
                        }
                        try client.pipeline.syncOperations.addHandler(fromClient)
                        try server.pipeline.syncOperations.addHandler(PassOnHandler(to: client))
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    package var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// How many bytes clients have sent.
    package var sentBytes: Int { state.withLockedValue { $0.sent } }

    /// How many cuts are still to come.
    package var remainingCuts: Int { state.withLockedValue { $0.distances.count } }

    /// Stops accepting connections.
    package func stop() async throws {
        try await channel.close()
    }
}

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A loopback port that passes bytes on to another port, until it forgets connections: both sides stay open, and hear nothing more.
package final class ForgetfulProxy: Sendable {
    /// A connection of a client.
    private final class Connection: Sendable {
        /// The first kilobyte of the client, or so: what it wants to be called, after whether it may use TLS.
        let firstBytes = NIOLockedValueBox("")
        let isForgotten = NIOLockedValueBox(false)
    }

    private let channel: any Channel
    private let connections: NIOLockedValueBox<[Connection]>

    /// Starts a proxy for the server on a port of this machine.
    package init(to port: Int) async throws {
        let connections = NIOLockedValueBox<[Connection]>([])
        self.connections = connections
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                let connection = Connection()
                connections.withLockedValue { $0.append(connection) }
                return ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        let fromClient = PassOnHandler(to: server) { bytes in
                            connection.firstBytes.withLockedValue {
                                if let bytes, $0.utf8.count < 1_024 { $0 += String(buffer: bytes) }
                            }
                            return connection.isForgotten.withLockedValue(\.self)
                        }
                        let fromServer = PassOnHandler(to: client) { _ in connection.isForgotten.withLockedValue(\.self)
                        }
                        try client.pipeline.syncOperations.addHandler(fromClient)
                        try server.pipeline.syncOperations.addHandler(fromServer)
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The port.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Forgets the connections there are whose first bytes have a text.
    ///
    /// - Returns: How many there are.
    @discardableResult
    package func forget(beginningWith text: String) -> Int {
        let matching = connections.withLockedValue(\.self).filter { connection in
            connection.firstBytes.withLockedValue { $0.contains(text) }
        }
        for connection in matching { connection.isForgotten.withLockedValue { $0 = true } }
        return matching.count
    }

    /// Stops accepting connections.
    package func stop() async throws {
        try await channel.close()
    }
}

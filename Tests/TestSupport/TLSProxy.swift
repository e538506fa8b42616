import NIOCore
import NIOPosix
import NIOSSL

/// A loopback port that speaks TLS, and passes what is inside on to another port.
package struct TLSProxy: Sendable {
    private let channel: any Channel

    /// Starts a proxy for the server on a port of this machine, with a certificate and its private key in PEM form.
    package init(to port: Int, certificate: String, key: String) async throws {
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
        let context = try NIOSSLContext(configuration: configuration)
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandlers(
                            NIOSSLServerHandler(context: context),
                            PassOnHandler(to: server)
                        )
                        try server.pipeline.syncOperations.addHandler(PassOnHandler(to: client))
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    package var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// Stops accepting connections.
    package func stop() async throws {
        try await channel.close()
    }
}

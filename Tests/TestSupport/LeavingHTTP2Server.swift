import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import NIOSSL

/// A loopback port that speaks HTTP/2 over TLS, for as long as it takes to greet: with the greeting the connection ends.
///
/// Its certificate is ``LoopbackCertificates/loopback``.
package final class LeavingHTTP2Server: Sendable {
    private let channel: any Channel
    private let greeted: NIOLockedValueBox<Int>

    /// Starts a server.
    ///
    /// - Parameter eventLoop: Where it runs. To a client there the greeting and the end of the connection come at once: it does
    ///   nothing between them.
    /// - Throws: When the certificate cannot be used, or there is no port.
    package init(on eventLoop: any EventLoop) async throws {
        let (certificate, key) = (LoopbackCertificates.loopback, LoopbackCertificates.loopbackKey)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        let greeted = NIOLockedValueBox(0)
        self.greeted = greeted
        channel = try await ServerBootstrap(group: eventLoop)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: context),
                        GreetingHandler(greeted)
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The base URL, without a trailing slash.
    package var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// How many clients were greeted.
    package var greetings: Int { greeted.withLockedValue { $0 } }

    /// Stops accepting connections.
    package func stop() async throws {
        try await channel.close()
    }
}

/// Answers the first bytes inside of TLS with a greeting, and closes the connection.
private final class GreetingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// An empty SETTINGS frame.
    private static let settings = ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0])

    private let greeted: NIOLockedValueBox<Int>
    private var hasGreeted = false

    init(_ greeted: NIOLockedValueBox<Int>) {
        self.greeted = greeted
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasGreeted else { return }
        hasGreeted = true
        greeted.withLockedValue { $0 += 1 }
        context.writeAndFlush(wrapOutboundOut(GreetingHandler.settings), promise: nil)
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

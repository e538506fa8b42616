import Foundation
import NIOCore
import NIOPosix
import PowerSyncServiceCore
import PowerSyncTesting
import PowerSyncAuth
import Testing

@testable import PowerSyncService

/// Servers of key sets that fall silent, wherever they are (docs/service.md "Authentication").
@Suite(.timeLimit(.minutes(1))) struct KeySetSilenceTests {
    /// Says something when a connection has come, and then nothing.
    private final class SilentServerHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let beginning: String
        private let connected: ChangeSignal

        init(_ beginning: String, _ connected: ChangeSignal) {
            (self.beginning, self.connected) = (beginning, connected)
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: beginning)), promise: nil)
            connected.advance()
        }
    }

    @Test(
        arguments: [
            "no TLS", "", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Len",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":[", "HTTP/1.1 200 OK\r\n\r\n{\"keys\":[]}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"key", "HTTP/1.1 100 Continue\r\n\r\n",
        ]
    )
    func aSilentServerIsGivenUpAfter30Seconds(_ beginning: String) async throws {
        // Of TLS the handshake is what is not answered.
        let isEncrypted = beginning == "no TLS"
        let (clock, connected) = (TestClock(), ChangeSignal())
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = SilentServerHandler(isEncrypted ? "" : beginning, connected)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let client = KeySetClient(
            url: try #require(URL(string: "\(isEncrypted ? "https" : "http")://127.0.0.1:\(port)/keys")),
            rejectedAddresses: .none,
            rejectsIPv6: false,
            clock: clock
        )
        let failure = Task { () async -> AuthorizationError? in
            do {
                _ = try await client.keys()
                return nil
            } catch {
                return error as? AuthorizationError
            }
        }
        try await connected.wait(after: 0)
        try await clock.waitForTimer(of: KeySetClient.timeout)
        clock.advance(by: KeySetClient.timeout)
        #expect(await failure.value?.logDetails?.contains("no complete answer within 30.0 seconds") == true)
        try await server.close()
    }
}

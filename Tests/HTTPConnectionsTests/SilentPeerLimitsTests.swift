import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPConnections

/// The time-outs of TCP, as the system tells them.
@Suite struct SilentPeerLimitsTests {
    #if os(Linux)
    @Test func theSystemGivesUpPeersThatHaveVanishedIdleOnesAfterAMinuteOthersAfter5() async throws {
        let (accepted, connections) = AsyncStream.makeStream(of: [SocketOptionValue].self)
        let options = [4, 5, 6, 18].map { (name: CInt) in
            ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: name))
        }
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    SilentPeerLimits.apply(to: channel)
                    let settings = try #require(channel.syncOptions)
                    connections.yield(
                        try [settings.getOption(.socketOption(.so_keepalive))] + options.map(settings.getOption)
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await RawConnection.connect(port: port) { _ in
            var values = accepted.makeAsyncIterator()
            #expect(await values.next() == [1, 30, 10, 3, 300_000])
        }
        try await server.close()
    }
    #endif
}

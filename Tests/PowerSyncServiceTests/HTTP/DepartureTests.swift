import Foundation
import NIOCore
import NIOPosix
import PowerSyncTesting
import RSocket
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Clients that leave without a word of their protocol end their streams at once, and nothing goes on for them.
@Suite(.timeLimit(.minutes(2))) struct DepartureTests {
    private typealias Scenario = ServiceScenario

    /// The CPU time that this process has used.
    private static var cpuTime: Duration {
        // CLOCKS_PER_SEC is a million on every POSIX system.
        .microseconds(Int64(clock()))
    }

    /// How many clients leave in one test; each that were still served would take a core, or a part of one.
    private static let clientCount = 5

    /// Runs a service whose clock stands still: it never sends a keepalive that would meet the broken connection.
    private static func run(_ log: CollectedLog, _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(timing: TestClock().timing, log: log, body)
    }

    /// Waits for the end of one stream for each client, and expects that the service is at rest then: less than half of one
    /// core.
    private static func expectRest(_ log: CollectedLog) async throws {
        for number in 1...clientCount {
            let line = try await log.line(containing: "Sync stream complete", number: number)
            #expect(line.contains("close_reason=client closing stream"), "\(line)")
        }
        let before = cpuTime
        try await MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .milliseconds(300)) {}.futureResult.get()
        let used = cpuTime - before
        #expect(used < .milliseconds(150), "\(used) of CPU time in 300 ms of rest")
    }

    private static func request(_ token: String, _ more: String = "") -> String {
        """
        POST /sync/stream HTTP/1.1\r
        Host: x\r
        Authorization: Token \(token)\r
        Content-Type: application/json\r
        Content-Length: 2\r
        \r
        {}\(more)
        """
    }

    @Test("HTTP: however a client leaves, its stream ends and nothing spins", arguments: AbruptDeparture.allCases)
    func http(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            for _ in 0..<Self.clientCount {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    try await connection.send(Self.request(try scenario.token(now: TestClock.start)))
                    #expect(try await connection.text(until: "checkpoint_complete").contains("200 OK"))
                    try await connection.leave(departure)
                    while let _ = try? await connection.read() {}
                }
            }
            try await Self.expectRest(log)
        }
    }

    @Test("HTTP: requests that wait behind a stream do not hide that the client has left")
    func pipelined() async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            let waiting = String(repeating: "GET /probes/liveness HTTP/1.1\r\nHost: x\r\n\r\n", count: 5_000)
            for _ in 0..<Self.clientCount {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    try await connection.send(Self.request(try scenario.token(now: TestClock.start), waiting))
                    _ = try await connection.text(until: "checkpoint_complete")
                    try await connection.leave(.close)
                }
            }
            try await Self.expectRest(log)
        }
    }

    @Test("HTTP: a stream that ends by itself closes its connection")
    func completed() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let token = try scenario.token(lifetime: .seconds(25), now: TestClock.start)
                try await connection.send(Self.request(token))
                _ = try await connection.text(until: "checkpoint_complete")
                try await clock.waitForTimer(of: .seconds(5))
                clock.advance(by: .seconds(5))
                try await clock.waitForTimer(of: .seconds(20))
                clock.advance(by: .seconds(20))
                #expect(try await connection.text(until: "nothing").hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test("WebSocket: however a client leaves, its stream ends and nothing spins", arguments: AbruptDeparture.allCases)
    func webSocket(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            for _ in 0..<Self.clientCount {
                try await RSocketPeer.connect(port: scenario.address.port) { peer in
                    try await peer.send(
                        .setup(token: try scenario.token(now: TestClock.start)),
                        .request(1, credit: 100)
                    )
                    _ = try await peer.lines(2)
                    try await peer.leave(departure)
                    while let _ = try? await peer.next() {}
                }
            }
            try await Self.expectRest(log)
        }
    }

    @Test("WebSocket: a client that falls silent ends its stream when its lifetime is over")
    func silentWebSocket() async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            for _ in 0..<Self.clientCount {
                try await RSocketPeer.connect(port: scenario.address.port) { peer in
                    try await peer.send(
                        .setup(token: try scenario.token(now: TestClock.start), lifetime: .milliseconds(100)),
                        .request(1, credit: 100)
                    )
                    while let _ = try? await peer.next() {}
                }
            }
            try await Self.expectRest(log)
        }
    }

    #if os(Linux)
    @Test("the system gives up peers that have vanished: idle ones after a minute, others after 5")
    func limitsOfSilence() async throws {
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

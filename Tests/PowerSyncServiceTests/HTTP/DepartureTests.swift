import Foundation
import NIOCore
import NIOPosix
import RunningServiceTestSupport
import PowerSyncTesting
import RSocket
import ServiceTestSupport
import TestSupport
import Testing

@testable import HTTPConnections
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

    /// Expects that a service ends the stream of a client that has left, without waiting for anything else.
    ///
    /// It takes milliseconds, and a second is what is promised; a machine that has much else to do may need more. Who had to
    /// look at the connection, or to write to it, would notice nothing before 18 s: until then there is no keepalive.
    ///
    /// - Parameters:
    ///   - log: Gets the end of the stream.
    ///   - number: How many streams have ended with this one.
    ///   - departure: When the client left.
    /// - Throws: `CancellationError`.
    static func expectEnd(
        _ log: CollectedLog,
        number: Int = 1,
        since departure: ContinuousClock.Instant
    ) async throws {
        _ = try await log.line(containing: "Sync stream complete", number: number)
        let duration = ContinuousClock.now - departure
        #expect(duration < .seconds(15), "\(duration)")
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

    @Test(arguments: AbruptDeparture.allCases)
    func httpHoweverAClientLeavesItsStreamEndsAndNothingSpins(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            for number in 1...Self.clientCount {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    try await connection.send(Self.request(try scenario.token(now: TestClock.start)))
                    #expect(try await connection.text(until: "checkpoint_complete").contains("200 OK"))
                    let left = ContinuousClock.now
                    try await connection.leave(departure)
                    try await Self.expectEnd(log, number: number, since: left)
                    while let _ = try? await connection.read() {}
                }
            }
            try await Self.expectRest(log)
        }
    }

    @Test func httpRequestsThatWaitBehindAStreamDoNotHideThatTheClientHasLeft() async throws {
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

    @Test func httpAStreamThatEndsByItselfClosesItsConnection() async throws {
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

    @Test(arguments: AbruptDeparture.allCases)
    func webSocketHoweverAClientLeavesItsStreamEndsAndNothingSpins(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(log) { scenario in
            for number in 1...Self.clientCount {
                try await RSocketPeer.connect(port: scenario.address.port) { peer in
                    try await peer.send(
                        .setup(token: try scenario.token(now: TestClock.start)),
                        .request(1, credit: 100)
                    )
                    _ = try await peer.lines(2)
                    let left = ContinuousClock.now
                    try await peer.leave(departure)
                    try await Self.expectEnd(log, number: number, since: left)
                    while let _ = try? await peer.next() {}
                }
            }
            try await Self.expectRest(log)
        }
    }

    @Test func webSocketAClientThatFallsSilentEndsItsStreamWhenItsLifetimeIsOver() async throws {
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

    @Test(arguments: AbruptDeparture.allCases)
    func whatIsDoneForAClientBeforeItsStreamBeginsIsCancelledWhenTheClientLeaves(
        _ departure: AbruptDeparture
    ) async throws {
        let (accepted, connections) = AsyncStream.makeStream(of: (any Channel).self)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DepartureHandler(on: channel.eventLoop))
                    connections.yield(channel)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let stopped = TestClock()
        try await RawConnection.connect(port: port) { connection in
            var channels = accepted.makeAsyncIterator()
            let channel = try #require(await channels.next())
            let work = Task {
                try await firstOf {
                    try await stopped.sleep(for: .seconds(1))
                } or: {
                    try await DepartureHandler.waitUntilClientLeaves(channel)
                    throw CancellationError()
                }
            }
            try await stopped.waitForTimer(of: .seconds(1))
            try await connection.leave(departure)
            await #expect(throws: CancellationError.self) { try await work.value }
            // One that was reset is closed.
            try? await channel.close()
        }
        try await server.close()
    }

    #if os(Linux)
    /// The limits of silence on each connection that this process has accepted on a port, as the system knows them.
    private static func limits(ofConnectionsAcceptedOn port: Int) throws -> [[CInt?]] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
        var limits: [[CInt?]] = []
        // The listener has the same port.
        for socket in descriptors
        where localPort(of: socket) == port && option(SO_ACCEPTCONN, CInt(SOL_SOCKET), of: socket) == 0 {
            var values = [option(SO_KEEPALIVE, CInt(SOL_SOCKET), of: socket)]
            for name in [4, 5, 6, 18] as [CInt] { values.append(option(name, CInt(IPPROTO_TCP), of: socket)) }
            limits.append(values)
        }
        return limits
    }

    /// The port of this end of a socket; `nil` when it is none of IPv4.
    private static func localPort(of socket: CInt) -> Int? {
        // The beginning of `sockaddr_in`: the family, and the port in the order of the network.
        var address = [UInt16](repeating: 0, count: 64)
        var length = socklen_t(128)
        let status = address.withUnsafeMutableBytes { bytes in
            getsockname(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard status == 0, address[0] == UInt16(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address[1]))
    }

    /// An option of a socket; `nil` when it has none such.
    private static func option(_ name: CInt, _ level: CInt, of socket: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(socket, level, name, &value, &length) == 0 ? value : nil
    }

    @Test(arguments: [false, true])
    func limitsOfServedConnections(isWebSocket: Bool) async throws {
        try await Scenario.run { scenario in
            let port = scenario.address.port
            try await RawConnection.connect(port: port) { connection in
                let handshake = RawRequests.request("GET /sync/stream", RawRequests.handshake())
                try await connection.send(isWebSocket ? handshake : RawRequests.probe)
                let answer = try await connection.text(until: isWebSocket ? "\r\n\r\n" : "touched_at")
                #expect(answer.hasPrefix(isWebSocket ? "HTTP/1.1 101 " : "HTTP/1.1 200 "))
                #expect(try Self.limits(ofConnectionsAcceptedOn: port) == [[1, 30, 10, 3, 300_000]])
            }
        }
    }
    #endif
}

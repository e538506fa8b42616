import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// Clients that are too slow, with a clock moved by hand.
@Suite(.timeLimit(.minutes(3))) struct SlowClientTests {
    private typealias Scenario = ServiceScenario

    private static let rowCount = 1_500
    private static let rowLength = 16_000

    /// Fills a list of `u1` with 24 MB that gzip cannot make small: more than the buffers between service and client
    /// hold.
    private static func writeRandomRows(in folder: TemporaryFolder) async throws {
        try await Scenario.run(in: folder) { scenario in
            var random = SeededGenerator(seed: 17)
            let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-".utf8)
            // Longer than what gzip looks back to: 32 KiB.
            let text = (0..<1 << 20).map { _ in letters[Int(random.next() >> 58)] }
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
            for start in stride(from: 0, to: rowCount, by: 250) {
                let rows = (start..<start + 250).map { number in
                    let offset = random.number(below: text.count - rowLength)
                    let title = String(decoding: text[offset..<offset + rowLength], as: UTF8.self)
                    return Scenario.put("todos", "t\(number)", ["list_id": "l1", "title": .string(title)])
                }
                try await scenario.write(rows)
            }
            try await scenario.settle()
        }
    }

    @Test func aClientThatDoesNotReadGetsNoMoreThanTheBuffersHoldAndLosesItsPlaceWhenItsTokenExpires() async throws {
        let folder = try TemporaryFolder()
        try await Self.writeRandomRows(in: folder)
        let clock = TestClock()
        let log = CollectedLog()
        try await Scenario.run(
            in: folder,
            timing: clock.timing,
            log: log,
            configure: { $0.limits.maxConcurrentConnections = 2 }
        ) { scenario in
            let unread = try await scenario.stream(
                try scenario.token(lifetime: .seconds(25), now: TestClock.start),
                ["client_id": "unread"]
            )
            // In the time that another client needs for everything, this one could have been sent everything, too.
            var reader = try await scenario.stream(try scenario.token(now: TestClock.start))
            while reader.byteCount < Self.rowCount * Self.rowLength { _ = try #require(try await reader.chunk()) }
            let token = try scenario.token(now: TestClock.start)
            #expect(try await scenario.status("POST", "/sync/stream", token: token, body: "{}") == 429)

            try await clock.waitForTimer(of: .seconds(5))
            clock.advance(by: .seconds(55))
            let line = try await log.line(containing: "Sync stream complete")
            #expect(line.contains("client_id=unread"))
            #expect(line.contains("close_reason=client not reading"), "\(line)")
            let bytes = try #require(line.split(separator: " ").first { $0.hasPrefix("data_synced_bytes=") })
            let count = try #require(Int(bytes.dropFirst("data_synced_bytes=".count)))
            #expect(count < Self.rowCount * Self.rowLength * 3 / 4)
            // Its place is free.
            _ = try await scenario.stream(try scenario.token(now: clock.date))
            withExtendedLifetime((unread, reader)) {}
        }
    }

    @Test(arguments: [("/sync/stream", 60), ("/sync/checkpoint-request", 10), ("/dev/write", 60)])
    func aBodyThatTakesLongerThanAMinuteIsNotWaitedForOneForAWriteCheckpointNotLongerThan10Seconds(
        path: String,
        seconds: Int
    ) async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            let token = try scenario.token(now: TestClock.start)
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(
                    """
                    POST \(path) HTTP/1.1\r
                    Host: localhost\r
                    Authorization: Token \(token)\r
                    Content-Type: application/json\r
                    Content-Length: 100\r
                    \r
                    {"client_id"
                    """
                )
                // The history of the dashboard has a timer of its own.
                let isAsLong = ServiceHistory.interval == .seconds(seconds)
                try await clock.waitForTimer(of: .seconds(seconds), count: isAsLong ? 2 : 1)
                clock.advance(by: .seconds(seconds))
                let response = try await connection.text(until: "}}")
                #expect(response.contains("408 Request Timeout"), "\(response)")
                #expect(response.contains("PSYNC_S2001"), "\(response)")
                // The connection is of no use any more.
                #expect(try await connection.read() == nil)
            }
        }
    }
}

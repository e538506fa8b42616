import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import RSocket
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Clients that do not read are disconnected when others wait for the memory that their lines take.
@Suite(.timeLimit(.minutes(1))) struct UnreadStreamTests {
    private typealias Scenario = ServiceScenario

    private let clock = TestClock()
    private let log = CollectedLog()

    /// Runs a service with rows for a user who does not read, each of more bytes than the service keeps for all, and a short one
    /// for another user.
    private func run(rows: Int, bytes: Int, _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            timing: clock.timing,
            log: log,
            configure: { $0.limits.maxReadAheadBytes = bytes * 9 / 10 }
        ) { scenario in
            let token = try scenario.token(now: TestClock.start)
            func write(_ id: String, of user: String, _ text: String) async throws {
                let row = Scenario.put("lists", id, ["owner_id": .string(user), "name": .string(text)])
                let body: JSONObject = ["data": [.object(row)]]
                #expect(try await scenario.send("POST", "/dev/write", token: token, body: body.text).status == 200)
            }
            for row in 0..<rows { try await write("u1-\(row)", of: "u1", String(repeating: "x", count: bytes)) }
            try await write("u2", of: "u2", "short")
            try await scenario.settle(now: TestClock.start)
            try await body(scenario)
        }
    }

    private func request(_ scenario: Scenario, user: String) throws -> String {
        """
        POST /sync/stream HTTP/1.1\r
        Host: x\r
        Authorization: Token \(try token(scenario, user))\r
        Content-Type: application/json\r
        Content-Length: 17\r
        \r
        {"raw_data":true}
        """
    }

    /// Reads a stream of the other user up to its first checkpoint.
    private func readCheckpoint(_ scenario: Scenario) async throws -> Bool {
        try await RawConnection.connect(port: scenario.address.port) { connection in
            try await connection.send(request(scenario, user: "u2"))
            return try await connection.text(until: "checkpoint_complete").contains("checkpoint_complete")
        }
    }

    /// Others have to wait, and get their rows when the silent client is gone.
    private func expectEnd(_ scenario: Scenario) async throws {
        let isGone = NIOLockedValueBox(false)
        // How soon the network takes no more of the silent client's lines, nobody knows: until then, others wait for moments only,
        // or are themselves taken for silent, as the clock runs on while they wait for their bytes.
        async let others: Void = {
            while !isGone.withLockedValue(\.self) { _ = try? await readCheckpoint(scenario) }
        }()
        let time = Task { [clock] in
            while true {
                try await clock.waitForTimer(of: LineMemory.patience)
                clock.advance(by: LineMemory.patience)
            }
        }
        _ = try await log.line(containing: "close_reason=client not reading", "user_id=u1")
        isGone.withLockedValue { $0 = true }
        await others
        time.cancel()
        #expect(try await readCheckpoint(scenario))
    }

    /// Valid for longer than the clock will run.
    private func token(_ scenario: Scenario, _ user: String = "u1") throws -> String {
        try scenario.token(user, lifetime: .seconds(80_000), now: clock.date)
    }

    @Test func overWebSocketsAClientWithoutCreditIsDisconnected() async throws {
        try await run(rows: 1, bytes: 10_000) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try token(scenario)), .request(1, credit: 1))
                _ = try await peer.lines(1)
                try await expectEnd(scenario)
                while let _ = try? await peer.next() {}
            }
        }
    }

    @Test func overHTTPAClientThatDoesNotReadIsDisconnected() async throws {
        // More than the buffers of two sockets hold.
        try await run(rows: 48, bytes: 1_000_000) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(request(scenario, user: "u1"))
                _ = try await connection.read()
                try await expectEnd(scenario)
                while let _ = try? await connection.read() {}
            }
        }
    }

    @Test(arguments: AbruptDeparture.allCases)
    func aClientThatLeavesInTheMiddleOfALongLineIsGoneAtOnce(_ departure: AbruptDeparture) async throws {
        // More than the buffers of two sockets hold.
        try await run(rows: 12, bytes: 900_000) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(request(scenario, user: "u1"))
                _ = try await connection.read()
                try await connection.leave(departure)
                let line = try await log.line(containing: "Sync stream complete", "user_id=u1")
                #expect(line.contains("close_reason=client closing stream"), "\(line)")
                while let _ = try? await connection.read() {}
            }
        }
    }
}

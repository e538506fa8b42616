import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import RSocket
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Clients that do not read are disconnected when others wait for the memory that their lines take.
@Suite(.timeLimit(.minutes(1))) struct UnreadStreamTests {
    private typealias Scenario = ServiceScenario

    private let clock = TestClock()
    private let log = CollectedLog()

    /// Runs a service that reads for one client at a time, with rows for two users.
    private func run(rows: Int, bytes: Int, _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            timing: clock.timing,
            log: log,
            configure: { $0.limits.maxReadAheadBytes = 1 }
        ) { scenario in
            let text = String(repeating: "x", count: bytes)
            let token = try scenario.token(now: TestClock.start)
            for row in 0..<rows {
                let writes = ["u1", "u2"].map { user -> JSONValue in
                    .object(
                        Scenario.put("lists", "\(user)-\(row)", ["owner_id": .string(user), "name": .string(text)])
                    )
                }
                let body: JSONObject = ["data": .array(writes)]
                #expect(try await scenario.send("POST", "/dev/write", token: token, body: body.text).status == 200)
            }
            try await scenario.settle(now: TestClock.start)
            try await body(scenario)
        }
    }

    private static func request(_ scenario: Scenario, user: String) throws -> String {
        """
        POST /sync/stream HTTP/1.1\r
        Host: x\r
        Authorization: Token \(try scenario.token(user, now: TestClock.start))\r
        Content-Type: application/json\r
        Content-Length: 17\r
        \r
        {"raw_data":true}
        """
    }

    /// Another client waits, and gets its rows when the silent one is gone.
    private func expectEnd(_ scenario: Scenario) async throws {
        async let hasAll: Bool = RawConnection.connect(port: scenario.address.port) { connection in
            try await connection.send(Self.request(scenario, user: "u2"))
            // Of long lines, only the ends are looked at.
            var end = ""
            while !end.contains("checkpoint_complete"), let bytes = try await connection.read() {
                end = String((end + String(decoding: bytes.readableBytesView.suffix(200), as: UTF8.self)).suffix(200))
            }
            return end.contains("checkpoint_complete")
        }
        try await clock.waitForTimer(of: ReadAheadBudget.patience)
        clock.advance(by: ReadAheadBudget.patience)
        #expect(try await hasAll)
        let line = try await log.line(containing: "close_reason=client not reading")
        #expect(line.contains("user_id=u1"), "\(line)")
    }

    @Test func overWebSocketsAClientWithoutCreditIsDisconnected() async throws {
        try await run(rows: 3, bytes: 10) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token(now: TestClock.start)), .request(1, credit: 1))
                _ = try await peer.lines(1)
                try await expectEnd(scenario)
                while let _ = try? await peer.next() {}
            }
        }
    }

    @Test func overHTTPAClientThatDoesNotReadIsDisconnected() async throws {
        // More than the buffers of two sockets hold.
        try await run(rows: 12, bytes: 1_000_000) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(Self.request(scenario, user: "u1"))
                _ = try await connection.read()
                try await expectEnd(scenario)
                while let _ = try? await connection.read() {}
            }
        }
    }
}

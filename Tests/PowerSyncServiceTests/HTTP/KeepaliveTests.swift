import Foundation
import PowerSyncProtocol
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Keepalives and the end of tokens, with a clock moved by hand (docs/protocol.md "Keepalives").
@Suite(.timeLimit(.minutes(1))) struct KeepaliveTests {
    private typealias Scenario = ServiceScenario

    @Test("an idle stream gets keepalives")
    func keepalives() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            var stream = try await scenario.stream(try scenario.token(now: TestClock.start))
            #expect(try await stream.untilComplete().last == "complete 0")
            try await clock.waitForTimer(of: .seconds(20))
            for seconds in [3580, 3560, 3540] as [Int64] {
                clock.advance(by: .seconds(20))
                #expect(try await stream.next() == ["token_expires_in": .integer(seconds)])
                try await clock.waitForTimer(of: .seconds(20))
            }
        }
    }

    @Test("a warning 20 s before the end, then the end")
    func expiry() async throws {
        let clock = TestClock()
        let log = CollectedLog()
        try await Scenario.run(timing: clock.timing, log: log) { scenario in
            var stream = try await scenario.stream(try scenario.token(lifetime: .seconds(25), now: TestClock.start))
            _ = try await stream.untilComplete()
            try await clock.waitForTimer(of: .seconds(5))
            clock.advance(by: .seconds(5))
            #expect(try await stream.next() == ["token_expires_in": 20])
            try await clock.waitForTimer(of: .seconds(20))
            clock.advance(by: .seconds(20))
            #expect(try await stream.next() == ["token_expires_in": 0])
            #expect(try await stream.next() == nil)
            #expect(try await log.line(containing: "Sync stream complete").contains("service closing stream"))
        }
    }

    @Test("a token that expired within the tolerance gets the end at once")
    func expiredWithinTolerance() async throws {
        try await Scenario.run(timing: TestClock().timing) { scenario in
            let issued = TestClock.start.addingTimeInterval(-100)
            var stream = try await scenario.stream(try scenario.token(lifetime: .seconds(41), now: issued))
            #expect(try await stream.next() == ["token_expires_in": 0])
            #expect(try await stream.next() == nil)

            let expired = try scenario.token(lifetime: .seconds(40), now: issued)
            let reply = try await scenario.send("POST", "/sync/stream", token: expired, body: "{}")
            #expect(reply.status == 401)
            #expect(try reply.error("code") == "PSYNC_S2103")
        }
    }
}

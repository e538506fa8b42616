import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Keepalives and the end of tokens, with a clock moved by hand (docs/protocol.md "Keepalives").
@Suite(.timeLimit(.minutes(1))) struct KeepaliveTests {
    private typealias Scenario = ServiceScenario

    @Test func anIdleStreamGetsKeepalives() async throws {
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

    @Test func aWarning20SBeforeTheEndThenTheEnd() async throws {
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

    // MARK: Steps of the wall clock

    @Test func aTokenExpiresByTheWallClockAlsoWhenThatIsSetForward() async throws {
        let clock = TestClock()
        let wallClock = WallClock(clock)
        try await Scenario.run(timing: wallClock.timing) { scenario in
            var stream = try await scenario.stream(try scenario.token(now: TestClock.start))
            _ = try await stream.untilComplete()
            try await clock.waitForTimer(of: .seconds(20))
            wallClock.step(by: 3600)
            clock.advance(by: .seconds(20))
            #expect(try await stream.next() == ["token_expires_in": 0])
            #expect(try await stream.next() == nil)
        }
    }

    @Test func keepalivesGoOnWhenTheWallClockIsSetBackAndATokenLivesByIt() async throws {
        let clock = TestClock()
        let wallClock = WallClock(clock)
        try await Scenario.run(timing: wallClock.timing) { scenario in
            var stream = try await scenario.stream(try scenario.token(lifetime: .seconds(25), now: TestClock.start))
            _ = try await stream.untilComplete()
            try await clock.waitForTimer(of: .seconds(5))
            wallClock.step(by: -1000)
            clock.advance(by: .seconds(5))
            #expect(try await stream.next() == ["token_expires_in": 1020])
            for seconds in [1000, 980] as [Int64] {
                try await clock.waitForTimer(of: .seconds(20))
                clock.advance(by: .seconds(20))
                #expect(try await stream.next() == ["token_expires_in": .integer(seconds)])
            }
        }
    }

    @Test(arguments: [(-100, 1040), (500, 440), (940, 0), (5000, 0)] as [(Double, Int)])
    func aWaitForATimeEndsSoonAfterThatWhicheverWayTheWallClockIsSet(step: Double, left: Int) async throws {
        let clock = TestClock()
        let wallClock = WallClock(clock)
        let timing = wallClock.timing
        let time = timing.seconds + 1000
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await timing.sleep(until: time) }
            try await clock.waitForTimer(of: .seconds(60))
            wallClock.step(by: step)
            clock.advance(by: .seconds(60))
            for passed in stride(from: 0, to: left, by: 60) {
                let pause = Duration.seconds(min(60, left - passed))
                try await clock.waitForTimer(of: pause)
                clock.advance(by: pause)
            }
            try await group.waitForAll()
        }
    }

    @Test func aTokenThatExpiredWithinTheToleranceGetsTheEndAtOnce() async throws {
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

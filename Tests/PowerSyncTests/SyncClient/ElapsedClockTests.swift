import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ElapsedClockTests {
    private let source = TestClock()
    private let clock: ElapsedClock

    init() {
        source.advance(by: .seconds(100))
        clock = ElapsedClock(source)
    }

    @Test func timeCountsFromTheStart() {
        #expect(clock.now == .zero)
        source.advance(by: .seconds(3))
        #expect(clock.now == .seconds(3))
    }

    @Test func sleepersWakeWhenTheirTimeHasCome() async throws {
        async let long: Void = clock.sleep(for: .seconds(5))
        #expect(try await source.nextTimerScheduled() == .seconds(5))
        source.advance(by: .seconds(4))
        async let short: Void = clock.sleep(until: .seconds(5))
        #expect(try await source.nextTimerScheduled() == .seconds(1))
        #expect(source.pendingTimers == [.seconds(1), .seconds(1)])
        source.advance(by: .seconds(1))
        try await long
        try await short
        try await clock.sleep(until: .seconds(5))
    }

    @Test func cancelledSleeperThrows() async throws {
        let task = Task { try await clock.sleep(for: .seconds(5)) }
        try await source.waitForTimer(of: .seconds(5))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(source.pendingTimers.isEmpty)
    }

    @Test func limitCancelsTheOperation() async throws {
        let result = Task {
            try await clock.withLimit(.seconds(2), otherwise: ScriptedError()) { [clock] in
                try await clock.sleep(for: .seconds(10))
            }
        }
        try await source.waitForTimer(of: .seconds(2))
        source.advance(by: .seconds(2))
        await #expect(throws: ScriptedError.self) { try await result.value }
        #expect(source.pendingTimers.isEmpty)
    }

    @Test func aLimitForAnAnswerBeginsAnewAfterTheProcessWasSuspended() async throws {
        let result = Task {
            try await clock.withAnswerLimit(.seconds(2), otherwise: ScriptedError()) { [clock] in
                try await clock.sleep(for: .seconds(86_400))
            }
        }
        for suspended in [7, 3600] {
            try await source.waitForTimer(of: .seconds(2))
            source.advance(by: .seconds(suspended))
        }
        // Late, as timers are.
        try await source.waitForTimer(of: .seconds(2))
        source.advance(by: .seconds(6))
        await #expect(throws: ScriptedError.self) { try await result.value }
        #expect(source.pendingTimers.isEmpty)
    }

    @Test func anUnansweredRequestIsRepeatedOnce() async throws {
        let attempts = NIOLockedValueBox(0)
        let answer = Task {
            try await clock.repeatingUnanswered { [clock] in
                let number = attempts.withLockedValue { attempts in
                    attempts += 1
                    return attempts
                }
                if number == 1 { try await clock.sleep(for: .seconds(100)) }
                return number
            }
        }
        try await source.waitForTimer(of: .seconds(8))
        source.advance(by: .seconds(8))
        #expect(try await answer.value == 2)
        #expect(source.pendingTimers.isEmpty)
        #expect(try await clock.repeatingUnanswered { 7 } == 7)
        await #expect(throws: ScriptedError.self) {
            try await clock.repeatingUnanswered { () -> Int in throw ScriptedError() }
        }
    }

    @Test func operationWithinTheLimitReturns() async throws {
        #expect(try await clock.withLimit(.seconds(2), otherwise: ScriptedError()) { 7 } == 7)
        #expect(source.pendingTimers.isEmpty)
    }
}

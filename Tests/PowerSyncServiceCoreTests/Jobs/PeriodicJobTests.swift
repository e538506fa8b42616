import Logging
import NIOConcurrencyHelpers
import PowerSyncTesting
import ServiceLifecycle
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// When a periodic job calls its closure, and what ends it.
@Suite(.timeLimit(.minutes(1))) struct PeriodicJobTests {
    private struct Hiccup: Error {}

    private let clock = TestClock()
    private let log = CollectedLog()

    private func run(_ job: PeriodicJob<some Sendable>, _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await job.run() }
            try await body()
            group.cancelAll()
            // Cancellation is no error.
            try await group.waitForAll()
        }
    }

    @Test func aPauseFollowsEachCall() async throws {
        let calls = NIOLockedValueBox(0)
        let job = PeriodicJob(every: .seconds(5), clock: clock) { calls.withLockedValue { $0 += 1 } }
        try await run(job) {
            for count in 1...3 {
                #expect(try await clock.nextTimerScheduled() == .seconds(5))
                #expect(calls.withLockedValue(\.self) == count)
                clock.advance(by: .seconds(5))
            }
            try await clock.nextTimerScheduled()
        }
    }

    @Test func aDelayComesBeforeTheFirstCallAndPausesDependOnTheState() async throws {
        let job = PeriodicJob(
            pausing: { .seconds($0) },
            after: .seconds(7),
            clock: clock,
            startingWith: 1
        ) { state in state *= 2 }
        try await run(job) {
            for pause in [7, 2, 4, 8] {
                #expect(try await clock.nextTimerScheduled() == .seconds(pause))
                clock.advance(by: .seconds(pause))
            }
            try await clock.nextTimerScheduled()
        }
    }

    @Test func aLoggedErrorIsFollowedByThePause() async throws {
        let job = PeriodicJob(every: .seconds(5), clock: clock, failure: (log.logger, "It did not work.")) {
            throw Hiccup()
        }
        try await run(job) {
            for count in 1...2 {
                #expect(try await clock.nextTimerScheduled() == .seconds(5))
                #expect(log.lines.filter { $0.contains("It did not work.") && $0.contains("Hiccup") }.count == count)
                clock.advance(by: .seconds(5))
            }
            try await clock.nextTimerScheduled()
        }
    }

    @Test func anotherErrorEndsTheJob() async throws {
        let job = PeriodicJob(every: .seconds(5), clock: clock) { throw Hiccup() }
        await #expect(throws: Hiccup.self) { try await job.run() }
    }

    @Test func gracefulShutdownEndsTheJobWithoutAnError() async throws {
        let job = PeriodicJob(every: .seconds(5), clock: clock) {}
        let group = ServiceGroup(services: [job], gracefulShutdownSignals: [], logger: log.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await clock.nextTimerScheduled()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

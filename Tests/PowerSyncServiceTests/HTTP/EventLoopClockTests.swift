import NIOCore
import NIOPosix
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct EventLoopClockTests {
    private static let clock = EventLoopClock(eventLoops: .singletonMultiThreadedEventLoopGroup)

    @Test func aSleepEndsWhenItsTimeHasCome() async throws {
        let start = ContinuousClock.now
        try await Self.clock.sleep(for: .milliseconds(10))
        #expect(ContinuousClock.now - start >= .milliseconds(10))
    }

    @Test func aCancelledSleepEndsAtOnce() async throws {
        let sleeping = Task { try await Self.clock.sleep(for: .seconds(3600)) }
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
    }

    /// How many timers a loop has; only its description for debuggers tells.
    private static func timerCount(of eventLoop: any EventLoop) throws -> Int {
        let text = String(reflecting: eventLoop)
        let count = text.firstMatch(of: /PriorityQueue\(count: (\d+)\)/).flatMap { Int($0.1) }
        return try #require(count, "\(text)")
    }

    @Test func sleepsThatAreCancelledLeaveNothingBehind() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let clock = EventLoopClock(eventLoops: group)
        var mostTimers = 0
        for _ in 0..<100 {
            try await withThrowingTaskGroup(of: Void.self) { sleeps in
                for _ in 0..<500 { sleeps.addTask { try await clock.sleep(for: .seconds(3600)) } }
                // It begins behind the others.
                try await clock.sleep(for: .milliseconds(5))
                mostTimers = max(mostTimers, try Self.timerCount(of: group.next()))
                sleeps.cancelAll()
            }
        }
        let left = try Self.timerCount(of: group.next())
        #expect(mostTimers > 0 && left == 0, "\(left) of 50,000, at most \(mostTimers) at a time")
        try await group.shutdownGracefully()
    }

    @Test func aServiceSleepsWithIt() throws {
        let service = try SyncService(
            configuration: ServiceScenario.configuration(in: TemporaryFolder()),
            logger: ServiceScenario.logger
        )
        #expect(service.timing.clock is EventLoopClock)
    }
}

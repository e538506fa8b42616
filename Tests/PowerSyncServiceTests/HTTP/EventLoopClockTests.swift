import NIOCore
import NIOPosix
import Testing

@testable import PowerSyncService

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
}

import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct IdleWatchdogTests {
    private let source = TestClock()

    /// While the database has what has come, nobody waits for the service.
    @Test func onlyWaitingForTheNetworkCounts() async throws {
        let watchdog = IdleWatchdog(clock: ElapsedClock(source))
        let running = Task { try await watchdog.run() }
        try await source.waitForTimer(of: .seconds(40))
        try await watchdog.watch {}
        // The process is suspended meanwhile.
        for seconds in [40, 40, 3600, 40] {
            source.advance(by: .seconds(seconds))
            try await source.waitForTimer(of: .seconds(40))
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }
}

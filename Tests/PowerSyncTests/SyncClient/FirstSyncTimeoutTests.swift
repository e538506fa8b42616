import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Waits for a first sync that give up.
@Suite(.timeLimit(.minutes(1))) struct FirstSyncTimeoutTests {
    private let harness = SyncHarness()

    private func waiting(priority: BucketPriority? = nil) -> Task<Void, any Error> {
        Task { [harness] in try await harness.database.waitForFirstSync(priority: priority, timeout: .seconds(10)) }
    }

    @Test func aWaitEndsWithTheSync() async throws {
        let task = waiting()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a")]), .put("a", 1...1), .done)
        try await task.value
        // It is known from then on.
        try await harness.database.waitForFirstSync(timeout: .zero)
    }

    @Test func aWaitThatIsTooLongSaysWhatTheDatabaseDoes() async throws {
        let task = waiting()
        _ = try await harness.connectAndAccept()
        try await harness.clock.waitForTimer(of: .seconds(10))
        harness.clock.advance(by: .seconds(10))
        let error = try await #require(throws: PowerSyncError.self) { try await task.value }
        #expect(error.code == .timedOut)
        #expect("\(error)".contains("10.0 seconds") && "\(error)".contains("connected"))
        // Syncing goes on.
        #expect(harness.database.currentStatus.connected)
    }

    @Test func aPriorityIsEnoughForThoseThatWaitForIt() async throws {
        let (urgent, complete) = (waiting(priority: BucketPriority(1)), waiting())
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(2, [.bucket("a", priority: 1), .bucket("b")]), .put("a", 1...1), .done(1))
        try await urgent.value
        complete.cancel()
        await #expect(throws: CancellationError.self) { try await complete.value }
    }

    @Test func noTimeLooksOnce() async throws {
        let error = try await #require(throws: PowerSyncError.self) {
            try await harness.database.waitForFirstSync(timeout: .zero)
        }
        #expect(error.code == .timedOut)
    }

    @Test func aClosedDatabaseEndsTheWait() async throws {
        let task = waiting()
        try await harness.clock.waitForTimer(of: .seconds(10))
        try await harness.database.close()
        let error = try await #require(throws: PowerSyncError.self) { try await task.value }
        #expect(error.code == .closed)
    }
}

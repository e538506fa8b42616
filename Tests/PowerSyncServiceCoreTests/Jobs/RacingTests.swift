import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

/// Two operations of which the slower one is cancelled.
@Suite(.timeLimit(.minutes(1))) struct RacingTests {
    private struct TooSlow: Error {}
    private struct Hiccup: Error {}

    private let clock = TestClock()

    @Test func theFirstResultCancelsTheOtherOperation() async throws {
        #expect(
            try await firstOf {
                1
            } or: {
                try await forever()
            } == 1
        )
        #expect(
            try await firstOf {
                try await forever()
            } or: {
                2
            } == 2
        )
    }

    @Test func theFirstErrorCancelsTheOtherOperation() async throws {
        await #expect(throws: Hiccup.self) {
            try await firstOf {
                throw Hiccup()
            } or: {
                try await forever()
            }
        }
    }

    @Test func whatIsInTimeIsReturned() async throws {
        #expect(try await withTimeout(.seconds(3), clock: clock, throwing: TooSlow()) { "a" } == "a")
        await #expect(throws: Hiccup.self) {
            try await withTimeout(.seconds(3), clock: clock, throwing: TooSlow()) { throw Hiccup() }
        }
    }

    @Test func whatTakesTooLongIsCancelled() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await #expect(throws: TooSlow.self) {
                    try await withTimeout(.seconds(3), clock: clock, throwing: TooSlow()) { try await forever() }
                }
            }
            #expect(try await clock.nextTimerScheduled() == .seconds(3))
            clock.advance(by: .seconds(3))
            try await group.waitForAll()
        }
    }

    @Test func cancellationReachesBoth() async throws {
        let task = Task {
            try await firstOf {
                try await self.forever()
            } or: {
                try await self.forever()
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }

    /// Ends when the task is cancelled.
    private func forever() async throws -> Int {
        let (values, continuation) = AsyncStream.makeStream(of: Int.self)
        defer { continuation.finish() }
        for await _ in values {}
        throw CancellationError()
    }
}

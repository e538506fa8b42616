import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

/// How work waits for its turn, and when it is refused.
@Suite(.timeLimit(.minutes(1))) struct ConcurrencyQueueTests {
    @Test func aSlotIsFreeWhenItsLastReferenceGoesAway() async throws {
        let queue = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 0)
        var slot: ConcurrencyQueue.Slot? = try await queue.acquire()
        #expect(queue.running == 1)
        await #expect(throws: ConcurrencyQueue.Failure.overflow) { _ = try await queue.acquire() }
        slot = nil
        _ = slot
        #expect(queue.running == 0)
        try await queue.withSlot { #expect(queue.running == 1) }
        #expect(queue.running == 0)
    }

    @Test func aSlotIsReleasedOnce() async throws {
        let queue = ConcurrencyQueue(maximumRunning: 2, maximumWaiting: 0)
        let other = try await queue.acquire()
        do {
            let slot = try await queue.acquire()
            slot.release()
            #expect(queue.running == 1)
            slot.release()
        }
        #expect(queue.running == 1)
        withExtendedLifetime(other) {}
    }

    @Test func waitingTasksGetReleasedSlots() async throws {
        let queue = ConcurrencyQueue(maximumRunning: 2, maximumWaiting: 10)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await queue.withSlot {
                        #expect(queue.running <= 2)
                        await Task.yield()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(queue.running == 0)
        #expect(queue.waiting == 0)
    }

    @Test func cancelledTasksStopWaiting() async throws {
        let queue = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1)
        try await queue.withSlot {
            let waiting = Task { try await queue.acquire() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        }
        #expect(queue.waiting == 0)
    }

    @Test func waitingEndsWithTheTimeout() async throws {
        let clock = TestClock()
        let queue = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1, timeout: .seconds(30), clock: clock)
        try await queue.withSlot {
            let waiting = Task { try await queue.acquire() }
            try await clock.nextTimerScheduled()
            clock.advance(by: .seconds(30))
            await #expect(throws: ConcurrencyQueue.Failure.timeout) { _ = try await waiting.value }
        }
    }
}

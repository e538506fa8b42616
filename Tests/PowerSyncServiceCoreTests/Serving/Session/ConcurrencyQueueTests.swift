import NIOConcurrencyHelpers
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

    @Test func whoComesFirstIsServedFirst() async throws {
        let queue = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)
        let slot = try await queue.acquire()
        let served = NIOLockedValueBox<[Int]>([])
        // On one actor, a woken task goes on in the order of the wakes.
        let tasks = await Self.waiting(for: queue, count: 20) { number in served.withLockedValue { $0.append(number) } }
        // One in the middle gives up: nobody else loses a turn.
        tasks[7].cancel()
        _ = await tasks[7].result
        slot.release()
        for (number, task) in tasks.enumerated() where number != 7 { try await task.value }
        #expect(served.withLockedValue { $0 } == Array(0..<7) + Array(8..<20))
        #expect(queue.running == 0)
        #expect(queue.waiting == 0)
    }

    /// Starts tasks one after the other, until all of them wait.
    @MainActor private static func waiting(
        for queue: ConcurrencyQueue,
        count: Int,
        _ body: @escaping @MainActor (Int) -> Void
    ) async -> [Task<Void, any Error>] {
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            tasks.append(Task { try await queue.withSlot { body(number) } })
            // Two tasks of one actor may begin in another order than that of their creation.
            while queue.waiting <= number { await Task.yield() }
        }
        return tasks
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

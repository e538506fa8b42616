import Testing

@testable import PowerSyncClient

/// Waiting for a lock.
@Suite(.timeLimit(.minutes(1))) struct AsyncLockTests {
    /// Holds the lock until told otherwise.
    private func hold(_ lock: AsyncLock, until gate: AsyncStream<Void>) async -> Task<Void, any Error> {
        let isHeld = Counter()
        let task = Task {
            try await lock.withLock {
                isHeld.increment()
                for await _ in gate {}
            }
        }
        await isHeld.wait(for: 1)
        return task
    }

    @Test func oneBodyRunsAtATime() async throws {
        let lock = AsyncLock()
        let isRunning = Shared(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await lock.withLock {
                        #expect(!isRunning.value)
                        isRunning.value = true
                        await Task.yield()
                        isRunning.value = false
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func cancelledWaiterThrowsAndLosesNothing() async throws {
        let lock = AsyncLock()
        let gate = AsyncStream.makeStream(of: Void.self)
        let holder = await hold(lock, until: gate.stream)
        let cancelled = Task { try await lock.withLock { Issue.record("ran in spite of cancellation") } }
        let patient = Task { try await lock.withLock { 1 } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.continuation.finish()
        try await holder.value
        #expect(try await patient.value == 1)
        #expect(try await lock.withLock { 2 } == 2)
    }

    @Test func errorGivesTheLockBack() async throws {
        struct Refusal: Error {}
        let lock = AsyncLock()
        await #expect(throws: Refusal.self) { try await lock.withLock { throw Refusal() } }
        #expect(try await lock.withLock { true })
    }
}

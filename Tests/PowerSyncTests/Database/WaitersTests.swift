import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct WaitersTests {
    private struct State: WaitedState {
        var outcome: Result<Int, any Error>?
        var waiters = Waiters<Int>()
    }

    private struct Refusal: Error {}

    private let state = NIOLockedValueBox(State())

    /// Begins to wait, and returns when the task waits.
    private func wait() async -> Task<Int, any Error> {
        let waits = Counter()
        let task = Task { [state] in
            try await state.wait {
                $0.outcome
            } whenWaiting: {
                waits.increment()
            }
        }
        await waits.wait(for: 1)
        return task
    }

    @Test func whatIsThereIsNotWaitedFor() async throws {
        state.withLockedValue { $0.outcome = .success(1) }
        #expect(try await state.wait { $0.outcome } == 1)
        state.withLockedValue { $0.outcome = .failure(Refusal()) }
        await #expect(throws: Refusal.self) { try await state.wait { $0.outcome } }
        #expect(state.withLockedValue { $0.waiters.isEmpty })
    }

    @Test func theOneThatHasWaitedLongestIsTakenFirst() async throws {
        let tasks = [await wait(), await wait(), await wait()]
        state.withLockedValue { $0.waiters.takeFirst() }?.resume(returning: 1)
        #expect(try await tasks[0].value == 1)
        for waiter in state.withLockedValue({ $0.waiters.takeAll() }) { waiter.resume(throwing: Refusal()) }
        for task in tasks.dropFirst() { await #expect(throws: Refusal.self) { try await task.value } }
        #expect(state.withLockedValue { $0.waiters.takeFirst() == nil })
    }

    @Test func aCancelledTaskLeavesAndTheOthersStay() async throws {
        let (first, second) = (await wait(), await wait())
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        state.withLockedValue { $0.waiters.takeFirst() }?.resume(returning: 2)
        #expect(try await second.value == 2)
        #expect(state.withLockedValue { $0.waiters.isEmpty })
    }

    @Test func aTaskThatWasCancelledBeforeDoesNotWait() async {
        let task = Task { [state] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await state.wait { $0.outcome }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(state.withLockedValue { $0.waiters.isEmpty })
    }
}

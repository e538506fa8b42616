import NIOConcurrencyHelpers

/// A coalescing flag that says "look again", for one waiting task.
///
/// Of several reasons the greatest counts; `Void` for a flag without reasons.
package final class CoalescingTrigger<Reason: Sendable>: Sendable {
    private struct State: WaitedState {
        var pending: Reason?
        var waiters = Waiters<Reason>()

        mutating func take() -> Reason? {
            defer { pending = nil }
            return pending
        }
    }

    private let state = NIOLockedValueBox(State())
    private let greater: @Sendable (Reason, Reason) -> Reason

    /// Creates a flag that is not set.
    package init() where Reason: Comparable {
        greater = { max($0, $1) }
    }

    /// Creates a flag that is not set and has no reasons.
    package init() where Reason == Void {
        greater = { _, _ in }
    }

    /// Sets the flag.
    package func fire(_ reason: Reason) {
        let waiter = state.withLockedValue { state in
            let waiter = state.waiters.takeFirst()
            if waiter == nil { state.pending = state.pending.map { greater($0, reason) } ?? reason }
            return waiter
        }
        waiter?.resume(returning: reason)
    }

    /// Sets the flag.
    package func fire() where Reason == Void {
        fire(())
    }

    /// Takes the flag down, if it is set and no task waits for it.
    ///
    /// - Returns: The greatest reason since the last call.
    package func take() -> Reason? {
        state.withLockedValue { $0.take() }
    }

    /// Waits for the flag and takes it down.
    ///
    /// - Returns: The greatest reason since the last call.
    /// - Throws: `CancellationError`
    package func wait() async throws -> Reason {
        try await state.wait { state in
            precondition(state.waiters.isEmpty, "Two tasks wait for one trigger")
            return state.take().map { .success($0) }
        }
    }
}

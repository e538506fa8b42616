import NIOConcurrencyHelpers

/// A coalescing flag that says "look again", for one waiting task.
///
/// Reasons are ordered: of several the greatest counts.
package final class CoalescingTrigger<Reason: Comparable & Sendable>: Sendable {
    private struct State: WaitedState {
        var pending: Reason?
        var waiters = Waiters<Reason>()

        mutating func take() -> Reason? {
            defer { pending = nil }
            return pending
        }
    }

    private let state = NIOLockedValueBox(State())

    /// Creates a flag that is not set.
    package init() {}

    /// Sets the flag.
    package func fire(_ reason: Reason) {
        let waiter = state.withLockedValue { state in
            let waiter = state.waiters.takeFirst()
            if waiter == nil { state.pending = max(state.pending ?? reason, reason) }
            return waiter
        }
        waiter?.resume(returning: reason)
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

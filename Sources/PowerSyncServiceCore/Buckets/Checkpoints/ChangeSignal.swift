import NIOConcurrencyHelpers

/// A counter that tasks wait on: "something has changed, look again".
///
/// Advancing it wakes every waiting task. It carries no value and queues nothing, so any number of advances between two
/// looks count as one.
///
/// ```swift
/// let seen = signal.version
/// lookAtTheState()
/// try await signal.wait(after: seen)  // returns at once if the state changed since
/// ```
package final class ChangeSignal: Sendable {
    private struct State {
        var version: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = NIOLockedValueBox(State())

    /// Creates a signal with version 0.
    package init() {}

    /// How often the signal has been advanced.
    package var version: UInt64 { state.withLockedValue { $0.version } }

    /// Advances the version and wakes all waiting tasks.
    package func advance() {
        let waiters = state.withLockedValue { state in
            state.version += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the version is above the one that the caller has seen.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func wait(after seen: UInt64) async throws {
        let id = state.withLockedValue { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDone = state.withLockedValue { state in
                    // The handler may have run already; it would not resume the continuation any more.
                    if state.version > seen || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            state.withLockedValue { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }
}

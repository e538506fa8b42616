import NIOConcurrencyHelpers

/// A lock for tasks: waiting suspends instead of blocking a thread.
///
/// Turns are granted in the order of asking; the task that unlocks hands the lock to the one that has waited longest.
package final class AsyncLock: Sendable {
    private struct State: WaitedState {
        var isHeld = false
        var waiters = Waiters<Void>()

        /// Takes the lock if it is free.
        mutating func take() -> Result<Void, any Error>? {
            guard !isHeld else { return nil }
            isHeld = true
            return .success(())
        }
    }

    private let state = NIOLockedValueBox(State())

    /// Creates a free lock.
    package init() {}

    /// Runs a body while no other task runs one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; the body has not run then. Else what the
    ///   body throws.
    package func withLock<T>(_ body: () async throws -> T) async throws -> T {
        try await state.wait { $0.take() }
        defer { unlock() }
        return try await body()
    }

    /// Runs a body while no other task runs one, even if the task is cancelled: for clean-up that must happen.
    ///
    /// - Throws: What the body throws.
    package func withLockIgnoringCancellation<T>(_ body: () async throws -> T) async rethrows -> T {
        // Waiters of a lock are never given an error.
        try? await state.waitIgnoringCancellation { $0.take() }
        defer { unlock() }
        return try await body()
    }

    private func unlock() {
        let next = state.withLockedValue { state in
            let next = state.waiters.takeFirst()
            state.isHeld = next != nil
            return next
        }
        next?.resume()
    }
}

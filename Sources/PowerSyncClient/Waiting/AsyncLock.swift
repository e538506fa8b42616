import NIOConcurrencyHelpers

/// A lock for tasks: waiting suspends instead of blocking a thread.
///
/// Turns are granted in the order of asking.
///
/// ```
///            lock()                    unlock(), nobody waits
///  free ─────────────► held(waiters) ─────────────────────────► free
///                        │    ▲
///      lock(): enqueue,  └────┘  unlock(): the first waiter holds it now;
///      cancelled: dequeue and throw
/// ```
package final class AsyncLock: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private enum State {
        case free
        case held(waiters: [(id: UInt64, continuation: Waiter)])
    }

    private let state = NIOLockedValueBox<(lock: State, nextID: UInt64)>((.free, 0))

    /// Creates a free lock.
    package init() {}

    /// Runs a body while no other task runs one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; the body has not run then. Else what the
    ///   body throws.
    package func withLock<T>(_ body: () async throws -> T) async throws -> T {
        try await lock()
        defer { unlock() }
        return try await body()
    }

    /// Runs a body while no other task runs one, even if the task is cancelled: for clean-up that must happen.
    ///
    /// - Throws: What the body throws.
    package func withLockIgnoringCancellation<T>(_ body: () async throws -> T) async rethrows -> T {
        await lockIgnoringCancellation()
        defer { unlock() }
        return try await body()
    }

    private func lockIgnoringCancellation() async {
        // Nobody looks for the id 0, so this waiter is only ever resumed by `unlock()`.
        try? await withCheckedThrowingContinuation { (continuation: Waiter) in
            let isGranted = state.withLockedValue { state in
                guard case .held(var waiters) = state.lock else {
                    state.lock = .held(waiters: [])
                    return true
                }
                waiters.append((0, continuation))
                state.lock = .held(waiters: waiters)
                return false
            }
            if isGranted { continuation.resume() }
        }
    }

    private func lock() async throws {
        let id = state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let outcome: Result<Void, any Error>? = state.withLockedValue { state in
                    // Checked under the lock: a cancellation after this point finds the waiter in the queue.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state.lock {
                    case .free:
                        state.lock = .held(waiters: [])
                        return .success(())
                    case .held(var waiters):
                        waiters.append((id, continuation))
                        state.lock = .held(waiters: waiters)
                        return nil
                    }
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLockedValue { state in
                guard case .held(var waiters) = state.lock,
                    let index = waiters.firstIndex(where: { $0.id == id })
                else { return nil }
                let waiter = waiters.remove(at: index).continuation
                state.lock = .held(waiters: waiters)
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func unlock() {
        let next: Waiter? = state.withLockedValue { state in
            guard case .held(var waiters) = state.lock, !waiters.isEmpty else {
                state.lock = .free
                return nil
            }
            let next = waiters.removeFirst().continuation
            state.lock = .held(waiters: waiters)
            return next
        }
        next?.resume()
    }
}

import NIOConcurrencyHelpers

/// A coalescing flag that says "look again", for one waiting task.
///
/// Reasons are ordered: of several the greatest counts.
package final class CoalescingTrigger<Reason: Comparable & Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Reason, any Error>

    private enum State {
        case idle
        case pending(Reason)
        case waiting(Waiter)
    }

    private let state = NIOLockedValueBox(State.idle)

    /// Creates a flag that is not set.
    package init() {}

    /// Sets the flag.
    package func fire(_ reason: Reason) {
        let waiter = state.withLockedValue { state -> Waiter? in
            switch state {
            case .idle:
                state = .pending(reason)
                return nil
            case .pending(let earlier):
                state = .pending(max(earlier, reason))
                return nil
            case .waiting(let waiter):
                state = .idle
                return waiter
            }
        }
        waiter?.resume(returning: reason)
    }

    /// Takes the flag down, if it is set and nobody waits for it.
    ///
    /// - Returns: The greatest reason since the last call.
    package func take() -> Reason? {
        state.withLockedValue { state in
            guard case .pending(let reason) = state else { return nil }
            state = .idle
            return reason
        }
    }

    /// Waits for the flag and takes it down.
    ///
    /// - Returns: The greatest reason since the last call.
    /// - Throws: `CancellationError`
    package func wait() async throws -> Reason {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result = state.withLockedValue { state -> Result<Reason, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state {
                    case .idle:
                        state = .waiting(waiter)
                        return nil
                    case .pending(let reason):
                        state = .idle
                        return .success(reason)
                    case .waiting:
                        preconditionFailure("Two tasks wait for one trigger")
                    }
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state -> Waiter? in
                guard case .waiting(let waiter) = state else { return nil }
                state = .idle
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}

import NIOConcurrencyHelpers

/// Lets tasks wait for a condition over state that changes elsewhere.
///
/// Fire it after every change.
package final class Signal: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private let state = NIOLockedValueBox<(waiters: [UInt64: Waiter], lastID: UInt64, generation: UInt64)>(([:], 0, 0))

    /// Creates a signal.
    package init() {}

    /// Something has changed.
    package func fire() {
        let waiters = state.withLockedValue { state in
            defer { state.waiters.removeAll() }
            state.generation += 1
            return Array(state.waiters.values)
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// Waits until a condition yields a value.
    ///
    /// - Parameter condition: Evaluated now and after every change.
    /// - Returns: The value.
    /// - Throws: `CancellationError`
    package func wait<Value>(for condition: () -> Value?) async throws -> Value {
        while true {
            // Read before the condition: a change in between is not missed.
            let generation = state.withLockedValue { $0.generation }
            if let value = condition() { return value }
            try Task.checkCancellation()
            await waitForChange(since: generation)
        }
    }

    private func waitForChange(since generation: UInt64) async {
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLockedValue { state in
                    guard state.generation == generation, !Task.isCancelled else { return false }
                    state.waiters[id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

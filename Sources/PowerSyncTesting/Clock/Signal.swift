import Synchronization

/// Lets tasks wait for a condition over state that changes elsewhere.
///
/// Fire it after every change.
package final class Signal: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private let state = Mutex<(waiters: [UInt64: Waiter], lastID: UInt64, generation: UInt64)>(([:], 0, 0))

    /// Creates a signal.
    package init() {}

    /// Something has changed.
    package func fire() {
        let waiters = state.withLock { state in
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
            let generation = state.withLock { $0.generation }
            if let value = condition() { return value }
            try Task.checkCancellation()
            await waitForChange(since: generation)
        }
    }

    private func waitForChange(since generation: UInt64) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLock { state in
                    guard state.generation == generation, !Task.isCancelled else { return false }
                    state.waiters[id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

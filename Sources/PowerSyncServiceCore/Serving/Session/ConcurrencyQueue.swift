import NIOConcurrencyHelpers

/// A fair semaphore with a limited queue of waiting tasks (docs/service.md "Configuration").
///
/// Slots are handed over in the order in which tasks ask for them: a released slot wakes the one task that gets it.
///
/// Work that ends in one function takes its slot by ``withSlot(_:)``. Work that goes on in the body of a response takes
/// a slot by ``acquire()``, and releases it at the end of that body.
package final class ConcurrencyQueue: Sendable {
    /// One permit of the semaphore, which counts until it is released.
    ///
    /// The last reference to a slot releases it, too: a slot that loses the race against a time-out, or the response
    /// that holds it and is never written, is dropped, and no code is left that could release it.
    package final class Slot: Sendable {
        private let queue: ConcurrencyQueue
        private let isReleased = NIOLockedValueBox(false)

        fileprivate init(_ queue: ConcurrencyQueue) {
            self.queue = queue
        }

        deinit { release() }

        /// Hands the slot to the next waiting task; does nothing the second time.
        package func release() {
            let wasReleased = isReleased.withLockedValue { isReleased in
                defer { isReleased = true }
                return isReleased
            }
            if !wasReleased { queue.release() }
        }
    }

    /// The reasons for which a task gets no slot.
    package enum Failure: Error, Equatable {
        /// All slots are taken, and as many tasks wait as may wait.
        case overflow
        /// No slot became free in time.
        case timeout
    }

    private struct State {
        var running = 0
        var waiting = 0
        /// The ticket of the task that has begun to wait last.
        var lastTicket: UInt64 = 0
        /// A lower bound of the tickets of waiting tasks.
        var firstTicket: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Slot, any Error>] = [:]

        /// Takes out the task that has waited longest.
        mutating func nextWaiter() -> CheckedContinuation<Slot, any Error>? {
            guard !waiters.isEmpty else { return nil }
            while firstTicket <= lastTicket {
                defer { firstTicket += 1 }
                if let waiter = waiters.removeValue(forKey: firstTicket) { return waiter }
            }
            return nil
        }
    }

    private let maximumRunning: Int
    private let maximumWaiting: Int
    private let timeout: Duration?
    private let clock: any Clock<Duration>
    private let state = NIOLockedValueBox(State())

    /// Creates a semaphore.
    ///
    /// - Parameters:
    ///   - maximumRunning: The number of slots.
    ///   - maximumWaiting: The most tasks that may wait for a slot.
    ///   - timeout: The longest time that a task waits; `nil` without a limit.
    ///   - clock: Measures the timeout.
    package init(
        maximumRunning: Int,
        maximumWaiting: Int,
        timeout: Duration? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.maximumRunning = maximumRunning
        self.maximumWaiting = maximumWaiting
        self.timeout = timeout
        self.clock = clock
    }

    /// The number of slots in use.
    package var running: Int { state.withLockedValue { $0.running } }

    /// Whether a new task would have to wait.
    package var isBusy: Bool { running >= maximumRunning }

    /// The number of tasks that wait for a slot.
    package var waiting: Int { state.withLockedValue { $0.waiting } }

    /// Runs a closure with a slot.
    ///
    /// Like ``acquire()``, it runs on the actor of its caller, so that tasks of one actor wait in the order in which
    /// they ask.
    package nonisolated(nonsending) func withSlot<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        let slot = try await acquire()
        defer { slot.release() }
        return try await body()
    }

    /// Takes a slot if that is possible without waiting.
    ///
    /// - Returns: `nil` when all slots are taken.
    package func takeIfAvailable() -> Slot? {
        let isFree = state.withLockedValue { state in
            guard state.running < maximumRunning else { return false }
            state.running += 1
            return true
        }
        return isFree ? Slot(self) : nil
    }

    /// Waits for a slot; the task that has waited longest gets the next one.
    ///
    /// - Throws: ``Failure``, or `CancellationError`.
    package nonisolated(nonsending) func acquire() async throws -> Slot {
        if let slot = takeIfAvailable() { return slot }
        let ticket = state.withLockedValue { state -> UInt64? in
            guard state.waiting < maximumWaiting else { return nil }
            state.waiting += 1
            state.lastTicket += 1
            return state.lastTicket
        }
        guard let ticket else { throw Failure.overflow }
        defer { state.withLockedValue { $0.waiting -= 1 } }
        guard let timeout else { return try await wait(ticket) }
        return try await withTimeout(timeout, clock: clock, throwing: Failure.timeout) { try await self.wait(ticket) }
    }

    private nonisolated(nonsending) func wait(_ ticket: UInt64) async throws -> Slot {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Slot, any Error>) in
                let answer = state.withLockedValue { state -> Result<Slot, any Error>? in
                    // The handler below may have run already; it would not resume the continuation any more.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.running < maximumRunning {
                        state.running += 1
                        return .success(Slot(self))
                    }
                    state.waiters[ticket] = continuation
                    state.firstTicket = min(state.firstTicket, ticket)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters.removeValue(forKey: ticket) }?.resume(throwing: CancellationError())
        }
    }

    /// Hands a slot over to the task that has waited longest.
    private func release() {
        let waiter = state.withLockedValue { state in
            let waiter = state.nextWaiter()
            if waiter == nil { state.running -= 1 }
            return waiter
        }
        waiter?.resume(returning: Slot(self))
    }
}

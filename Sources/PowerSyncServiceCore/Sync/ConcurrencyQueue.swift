import Synchronization

/// Limits how much of one kind of work is done at the same time (docs/service.md "Configuration").
///
/// A slot is an object: it is free again when it is released, or else when the last reference to it goes away, as when a
/// response is dropped before it was written.
package final class ConcurrencyQueue: Sendable {
    /// The right to do one piece of work.
    package final class Slot: Sendable {
        private let queue: ConcurrencyQueue
        private let isReleased = Mutex(false)

        fileprivate init(_ queue: ConcurrencyQueue) {
            self.queue = queue
        }

        deinit { release() }

        /// Frees the slot; the second time does nothing.
        package func release() {
            let wasReleased = isReleased.withLock { isReleased in
                defer { isReleased = true }
                return isReleased
            }
            if !wasReleased { queue.release() }
        }
    }

    /// Why there is no slot.
    package enum Failure: Error, Equatable {
        /// All slots and all waiting places are taken.
        case overflow
        /// No slot became free in time.
        case timeout
    }

    private struct State {
        var running = 0
        var waiting = 0
    }

    private let maximumRunning: Int
    private let maximumWaiting: Int
    private let timeout: Duration?
    private let clock: any Clock<Duration>
    private let state = Mutex(State())
    private let released = ChangeSignal()

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - maximumRunning: How many slots there are.
    ///   - maximumWaiting: How many tasks may wait for one.
    ///   - timeout: How long a task waits; `nil` for as long as it takes.
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

    /// How many slots are in use.
    package var running: Int { state.withLock { $0.running } }

    /// How many tasks wait for a slot.
    package var waiting: Int { state.withLock { $0.waiting } }

    /// Does some work with a slot.
    package func withSlot<Result>(_ body: () async throws -> Result) async throws -> Result {
        let slot = try await acquire()
        defer { withExtendedLifetime(slot) {} }
        return try await body()
    }

    /// Waits for a slot.
    ///
    /// - Throws: ``Failure``, or `CancellationError`.
    package func acquire() async throws -> Slot {
        if let slot = takeIfAvailable() { return slot }
        let isAdmitted = state.withLock { state in
            guard state.waiting < maximumWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard isAdmitted else { throw Failure.overflow }
        defer { state.withLock { $0.waiting -= 1 } }
        guard let timeout else { return try await wait() }
        return try await withThrowingTaskGroup(of: Slot.self) { group in
            group.addTask { try await self.wait() }
            group.addTask { [clock] in
                try await clock.sleep(for: timeout)
                throw Failure.timeout
            }
            defer { group.cancelAll() }
            guard let slot = try await group.next() else { throw CancellationError() }
            return slot
        }
    }

    private func wait() async throws -> Slot {
        while true {
            let seen = released.version
            if let slot = takeIfAvailable() { return slot }
            try await released.wait(after: seen)
        }
    }

    private func takeIfAvailable() -> Slot? {
        let isFree = state.withLock { state in
            guard state.running < maximumRunning else { return false }
            state.running += 1
            return true
        }
        return isFree ? Slot(self) : nil
    }

    private func release() {
        state.withLock { $0.running -= 1 }
        released.advance()
    }
}

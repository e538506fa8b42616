import NIOConcurrencyHelpers

/// The time that changes are collected for, which ends early when they have no waiter any more.
final class Throttle: Sendable {
    private enum State {
        case idle
        /// Finishing the stream of this ends the wait.
        case waiting(AsyncStream<Void>.Continuation)
        case ended
    }

    private let duration: Duration
    private let clock: any Clock<Duration>
    private let state = NIOLockedValueBox(State.idle)

    /// Creates a throttle.
    init(_ duration: Duration, clock: any Clock<Duration>) {
        self.duration = duration
        self.clock = clock
    }

    /// Waits for the time to pass, or for ``end()``.
    ///
    /// Only one task may wait.
    ///
    /// - Throws: `CancellationError`
    func wait() async throws {
        guard duration > .zero else { return }
        let (end, signal) = AsyncStream.makeStream(of: Void.self)
        let mustWait = state.withLockedValue { state in
            if case .ended = state { return false }
            state = .waiting(signal)
            return true
        }
        guard mustWait else { return }
        try await withThrowingTaskGroup(of: Void.self) { [clock, duration] group in
            group.addTask { try await clock.sleep(for: duration) }
            group.addTask { for await _ in end {} }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Ends the wait, and makes later ones return at once.
    func end() {
        let state = state.withLockedValue { state in
            defer { state = .ended }
            return state
        }
        if case .waiting(let signal) = state { signal.finish() }
    }
}

import NIOConcurrencyHelpers

/// The time that changes are collected for, which ends early when they have no waiter any more.
final class Throttle: Sendable {
    private let duration: Duration
    private let clock: any Clock<Duration>
    private let isEnded = NIOLockedValueBox(false)
    /// Ends the wait.
    private let ending = CoalescingTrigger<Void>()

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
        guard duration > .zero, !isEnded.withLockedValue({ $0 }) else { return }
        try await withThrowingTaskGroup(of: Void.self) { [clock, duration, ending] group in
            group.addTask { try await clock.sleep(for: duration) }
            group.addTask { try await ending.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Ends the wait, and makes later ones return at once.
    func end() {
        isEnded.withLockedValue { $0 = true }
        ending.fire()
    }
}

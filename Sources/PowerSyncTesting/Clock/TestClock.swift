import NIOConcurrencyHelpers

/// A clock that stands still until a test moves it, or one that never waits.
///
/// ```swift
/// let clock = TestClock()
/// // … something that sleeps for 5 seconds …
/// try await clock.waitForTimer(of: .seconds(5))
/// clock.advance(by: .seconds(5))
/// ```
///
/// Where only the lengths of waits matter, sleeps can end at once; see ``init(onSleep:)``.
public final class TestClock: Clock, Sendable {
    /// A point in time: the time since the clock was made.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        /// The time since the clock was made.
        public var offset: Duration

        /// Creates an instant.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// The instant a duration later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// The time from this instant to another one.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Whether the first instant is earlier.
        public static func < (lhs: Instant, rhs: Instant) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private struct Sleeper {
        var id: UInt64
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastID: UInt64 = 0
        var sleepers: [Sleeper] = []
        /// The delays of timers that were not asked for with `nextTimerScheduled()`.
        var scheduled: [Duration] = []
    }

    private let state = NIOLockedValueBox(State())
    /// Signalled whenever a timer is scheduled.
    private let timers = Signal()
    /// What a sleep does instead of waiting.
    private let onSleep: (@Sendable (Duration) async throws -> Void)?

    /// Creates a clock that stands still.
    public init() {
        onSleep = nil
    }

    /// Creates a clock that does not wait: each sleep moves it to its deadline at once.
    ///
    /// ```swift
    /// let clock = TestClock { delay in print("waits for \(delay)") }
    /// ```
    ///
    /// - Parameter onSleep: Called by each sleep with its length, before the sleep ends. What it throws the sleep throws.
    public init(onSleep: @escaping @Sendable (_ delay: Duration) async throws -> Void) {
        self.onSleep = onSleep
    }

    /// The present time.
    ///
    /// Only ``advance(by:)`` changes it, and sleeps of a clock that does not wait.
    public var now: Instant { state.withLockedValue { $0.now } }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock has been moved to a point in time.
    ///
    /// - Parameters:
    ///   - deadline: When to return.
    ///   - tolerance: Ignored.
    /// - Throws: `CancellationError`
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        if let onSleep {
            try Task.checkCancellation()
            let delay = state.withLockedValue { state in
                defer { state.now = max(state.now, deadline) }
                return state.now.duration(to: deadline)
            }
            return try await onSleep(delay)
        }
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLockedValue { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.scheduled.append(state.now.duration(to: deadline))
                    state.sleepers.append(Sleeper(id: id, deadline: deadline, continuation: continuation))
                    return nil
                }
                if let result {
                    continuation.resume(with: result)
                } else {
                    timers.fire()
                }
            }
        } onCancel: {
            let sleeper = state.withLockedValue { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return nil }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the clock and wakes all sleepers whose time has come, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLockedValue { state -> [Sleeper] in
            let now = state.now.advanced(by: duration)
            state.now = now
            let due = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return due
        }
        for sleeper in due {
            sleeper.continuation.resume()
        }
    }

    /// Waits until a task sleeps, and returns for how long.
    ///
    /// Every timer is returned once, in order.
    ///
    /// - Throws: `CancellationError`
    @discardableResult
    public func nextTimerScheduled() async throws -> Duration {
        try await timers.wait {
            state.withLockedValue { $0.scheduled.isEmpty ? nil : $0.scheduled.removeFirst() }
        }
    }

    /// Waits until a task sleeps that is to be woken exactly this much later.
    ///
    /// Returns at once when one does.
    ///
    /// - Parameters:
    ///   - delay: The time from now until the timer.
    ///   - count: How many such timers to wait for.
    /// - Throws: `CancellationError`
    public func waitForTimer(of delay: Duration, count: Int = 1) async throws {
        try await timers.wait {
            state.withLockedValue { state in
                let deadline = state.now.advanced(by: delay)
                return state.sleepers.count { $0.deadline == deadline } >= count ? () : nil
            }
        }
    }

    /// How long the sleepers still have to wait, the shortest time first.
    public var pendingTimers: [Duration] {
        state.withLockedValue { state in
            state.sleepers.map { state.now.duration(to: $0.deadline) }.sorted()
        }
    }
}

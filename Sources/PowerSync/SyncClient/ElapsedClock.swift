/// A clock of any kind whose instants are the time since this value was made.
///
/// Instants of `any Clock<Duration>` cannot be stored; durations can.
struct ElapsedClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let sleepUntil: @Sendable (Duration) async throws -> Void

    /// Starts counting.
    init(_ clock: any Clock<Duration>) {
        self.init(opened: clock)
    }

    private init<C: Clock>(opened clock: C) where C.Duration == Duration {
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    /// The time since the start.
    var now: Duration { elapsed() }

    /// Waits until a time since the start.
    ///
    /// - Throws: `CancellationError`
    func sleep(until deadline: Duration) async throws {
        try await sleepUntil(deadline)
    }

    /// Waits.
    ///
    /// - Throws: `CancellationError`
    func sleep(for duration: Duration) async throws {
        try await sleepUntil(elapsed() + duration)
    }

    /// Runs an operation, but not longer than a limit.
    ///
    /// - Parameters:
    ///   - limit: When the operation is cancelled.
    ///   - error: Thrown when the limit was reached.
    ///   - operation: What to do. It is awaited in any case.
    /// - Returns: What `operation` returns.
    /// - Throws: `error`, or what `operation` throws.
    func withLimit<Result: Sendable>(
        _ limit: Duration,
        otherwise error: @autoclosure @escaping @Sendable () -> any Error,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await sleep(for: limit)
                throw error()
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}

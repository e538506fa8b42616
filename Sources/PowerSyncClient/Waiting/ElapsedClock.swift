/// A clock of any kind whose instants are the time since this value was made.
///
/// Instants of `any Clock<Duration>` cannot be stored; durations can.
package struct ElapsedClock: Sendable {
    /// A timer that is later than this shows that the process was suspended meanwhile: 5 s.
    ///
    /// One that had to wait for a processor is less late.
    package static let suspension = Duration.seconds(5)

    private let elapsed: @Sendable () -> Duration
    private let sleepUntil: @Sendable (Duration) async throws -> Void

    /// Starts counting.
    package init(_ clock: any Clock<Duration>) {
        self.init(opened: clock)
    }

    private init<C: Clock>(opened clock: C) where C.Duration == Duration {
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    /// The time since the start.
    package var now: Duration { elapsed() }

    /// Waits until a time since the start.
    ///
    /// - Throws: `CancellationError`
    package func sleep(until deadline: Duration) async throws {
        try await sleepUntil(deadline)
    }

    /// Waits.
    ///
    /// - Throws: `CancellationError`
    package func sleep(for duration: Duration) async throws {
        try await sleepUntil(elapsed() + duration)
    }

    /// Waits while this process runs.
    ///
    /// When it was suspended meanwhile, the wait begins anew: the other side could not be heard.
    ///
    /// - Throws: `CancellationError`
    package func sleepAwake(for duration: Duration) async throws {
        var deadline: Duration
        repeat {
            deadline = now + duration
            try await sleep(until: deadline)
        } while wasSuspended(before: deadline)
    }

    /// Whether a timer is so late that the process was suspended before it.
    ///
    /// - Parameter deadline: When it should have fired.
    /// - Returns: Whether it is.
    package func wasSuspended(before deadline: Duration) -> Bool { now - deadline >= Self.suspension }

    /// Runs an operation, but not longer than a limit.
    ///
    /// - Parameters:
    ///   - limit: When the operation is cancelled.
    ///   - error: Thrown when the limit was reached.
    ///   - operation: What to do. It is awaited in any case.
    /// - Returns: What `operation` returns.
    /// - Throws: `error`, or what `operation` throws.
    package func withLimit<Result: Sendable>(
        _ limit: Duration,
        otherwise error: @autoclosure @Sendable () -> any Error,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let result = try await withLimit(limit, operation) else { throw error() }
        return result
    }

    /// Runs an operation, but not longer than a limit.
    ///
    /// - Parameters:
    ///   - limit: When the operation is cancelled.
    ///   - operation: What to do. It is awaited in any case.
    /// - Returns: What `operation` returns; `nil` when the limit was reached.
    /// - Throws: What `operation` throws.
    package func withLimit<Result: Sendable>(
        _ limit: Duration,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await race(operation) { try await sleep(for: limit) }
    }

    /// Runs an operation that waits for an answer, but not longer than a limit in which this process runs.
    ///
    /// - Parameters:
    ///   - limit: When the operation is cancelled; it begins anew when the process was suspended meanwhile.
    ///   - error: Thrown when the limit was reached.
    ///   - operation: What to do. It is awaited in any case.
    /// - Returns: What `operation` returns.
    /// - Throws: `error`, or what `operation` throws.
    package func withAnswerLimit<Result: Sendable>(
        _ limit: Duration,
        otherwise error: @autoclosure @Sendable () -> any Error,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let result = try await withAnswerLimit(limit, operation) else { throw error() }
        return result
    }

    /// Runs an operation that waits for an answer, but not longer than a limit in which this process runs.
    ///
    /// - Parameters:
    ///   - limit: When the operation is cancelled; it begins anew when the process was suspended meanwhile.
    ///   - operation: What to do. It is awaited in any case.
    /// - Returns: What `operation` returns; `nil` when the limit was reached.
    /// - Throws: What `operation` throws.
    package func withAnswerLimit<Result: Sendable>(
        _ limit: Duration,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await race(operation) { try await sleepAwake(for: limit) }
    }

    private func race<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result,
        _ timer: @escaping @Sendable () async throws -> Void
    ) async throws -> Result? {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await timer()
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}

extension ElapsedClock {
    /// How long the first attempt of a request may take: 8 s.
    private static let firstAttempt = Duration.seconds(8)

    /// Runs a request, and once more when there is no answer to it.
    ///
    /// The first attempt may have gone over a connection that was opened earlier, and that broke without anybody noticing:
    /// the network has changed, or the device slept. Giving it up closes that connection, so that the second attempt
    /// opens one. The limit of both is the caller's.
    ///
    /// - Parameter request: What has no other effect when it is done twice.
    /// - Returns: What `request` returns.
    /// - Throws: What `request` throws.
    func repeatingUnanswered<Result: Sendable>(
        _ request: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        if let answer = try await withAnswerLimit(Self.firstAttempt, request) { return answer }
        return try await request()
    }
}

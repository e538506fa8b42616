package import Logging
package import ServiceLifecycle

/// Calls a closure again and again, with a pause after each call, until shutdown or cancellation.
///
/// ```swift
/// let job = PeriodicJob(every: .seconds(60), clock: clock, failure: (logger, "The disk could not be measured")) {
///     gauge.record(try await freeBytes())
/// }
/// ```
package struct PeriodicJob<State: Sendable>: Service {
    private let delay: Duration
    private let pause: @Sendable (State) -> Duration
    private let clock: any Clock<Duration>
    private let initial: State
    private let failure: (logger: Logger, message: Logger.Message)?
    private let body: @Sendable (inout State) async throws -> Void

    /// Creates a job that remembers something between two calls.
    ///
    /// - Parameters:
    ///   - pause: The time between two calls, after each of them.
    ///   - delay: The time before the first call.
    ///   - clock: Measures both.
    ///   - state: What the first call gets. Each run of the job begins with it.
    ///   - failure: How errors of `body` are logged, after which the job goes on; `nil` for errors that end it.
    ///   - body: What to do.
    package init(
        pausing pause: @escaping @Sendable (State) -> Duration,
        after delay: Duration = .zero,
        clock: any Clock<Duration>,
        startingWith state: State,
        failure: (logger: Logger, message: Logger.Message)? = nil,
        _ body: @escaping @Sendable (inout State) async throws -> Void
    ) {
        self.pause = pause
        self.delay = delay
        self.clock = clock
        initial = state
        self.failure = failure
        self.body = body
    }

    /// Creates a job with pauses that are always the same.
    package init(
        every interval: Duration,
        after delay: Duration = .zero,
        clock: any Clock<Duration>,
        startingWith state: State,
        failure: (logger: Logger, message: Logger.Message)? = nil,
        _ body: @escaping @Sendable (inout State) async throws -> Void
    ) {
        self.init(
            pausing: { _ in interval },
            after: delay,
            clock: clock,
            startingWith: state,
            failure: failure,
            body
        )
    }

    /// Creates a job that remembers nothing.
    package init(
        every interval: Duration,
        after delay: Duration = .zero,
        clock: any Clock<Duration>,
        failure: (logger: Logger, message: Logger.Message)? = nil,
        _ body: @escaping @Sendable () async throws -> Void
    ) where State == Void {
        self.init(every: interval, after: delay, clock: clock, startingWith: (), failure: failure) { _ in
            try await body()
        }
    }

    /// Runs the job.
    ///
    /// - Throws: An error of the closure, if they are not logged.
    package func run() async throws {
        try await untilShutdown {
            if delay > .zero { try await clock.sleep(for: delay) }
            var state = initial
            while true {
                do {
                    try await body(&state)
                } catch {
                    if error is CancellationError || Task.isCancelled { throw CancellationError() }
                    guard let failure else { throw error }
                    failure.logger.error(failure.message, metadata: [LogKey.error: "\(error)"])
                }
                try await clock.sleep(for: pause(state))
            }
        }
    }
}

extension Service {
    /// Calls a closure, and cancels it on graceful shutdown.
    ///
    /// That it was cancelled is no error.
    ///
    /// - Parameter body: Ends soon when it is cancelled.
    /// - Throws: What `body` throws, but for `CancellationError`.
    package func untilShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown { try await body() } } catch is CancellationError {}
    }
}

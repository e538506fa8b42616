import NIOConcurrencyHelpers

/// A call into the app's code: a method of the connector, or a closure of the attachments.
///
/// A call that makes no progress for its limit is cancelled, reported as overdue, and still waited for, so that a caller in a
/// loop never calls a second time before the first call has returned.
///
/// ```swift
/// try await AppCall("uploadData", limit: limit, clock: clock).run {
///     try await connector.uploadData(database: database)
/// } whenOverdue: { overdue in
///     log(.warning, "\(overdue)")
/// }
/// ```
///
/// Progress is an access to the database, which reports itself (``whileWorking(_:)``), and what ``progressed()`` is called for, such
/// as a byte that was sent. A limit that passes while the process is suspended begins anew.
package final class AppCall: Sendable {
    /// The call that the current task, or the one that has started it, belongs to.
    @TaskLocal static var current: AppCall?

    private enum Step<Value: Sendable>: Sendable {
        case returned(Value)
        case stoodStill
        case timerEnded
    }

    private let name: String
    private let limit: AppCallLimit
    private let clock: ElapsedClock
    private let outlivesCancellation: Bool
    /// When there was progress last, by the clock, and how much work of the SDK the call waits for.
    private let progress: NIOLockedValueBox<(last: Duration, work: Int)>

    /// Creates a call; its time begins.
    ///
    /// - Parameters:
    ///   - name: The method or closure of the app, and what it is called for, for example `uploadData`.
    ///   - limit: How long the call may go on without progress.
    ///   - clock: Measures the limit.
    ///   - outlivesCancellation: Whether the limit holds after the waiting task was cancelled, too: a call that does not return then hangs
    ///     all the same. By default it is not reported.
    package init(_ name: String, limit: AppCallLimit, clock: ElapsedClock, outlivesCancellation: Bool = false) {
        self.name = name
        self.limit = limit
        self.clock = clock
        self.outlivesCancellation = outlivesCancellation
        progress = NIOLockedValueBox((clock.now, 0))
    }

    /// The call has made progress.
    package func progressed() {
        let now = clock.now
        progress.withLockedValue { $0.last = now }
    }

    /// Does work of the SDK that an app's call waits for, and that has limits of its own: meanwhile the call is not overdue.
    ///
    /// - Parameter work: What is done, for the current call or none.
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
    nonisolated(nonsending) static func whileWorking<Value>(
        _ work: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        guard let call = current else { return try await work() }
        call.progress.withLockedValue { $0.work += 1 }
        defer {
            let now = call.clock.now
            call.progress.withLockedValue { progress in
                progress.work -= 1
                progress.last = now
            }
        }
        return try await work()
    }

    /// Runs the app's code, and cancels it when there was no progress for the limit.
    ///
    /// Call it once. When the task is cancelled, the app's code is cancelled and waited for.
    ///
    /// - Parameters:
    ///   - body: Calls the app.
    ///   - whenOverdue: Called once, when the limit was reached, before `body` is cancelled.
    /// - Returns: What `body` returns, also after the limit.
    /// - Throws: What `body` throws; ``OverdueCallError`` in place of that after the limit.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value,
        whenOverdue: @Sendable (OverdueCallError) -> Void
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Step<Value>.self) { tasks in
            let timer = outlivesCancellation ? Task { try await standStill() } : nil
            tasks.addTask { .returned(try await Self.$current.withValue(self, operation: body)) }
            tasks.addTask {
                do {
                    if let timer { try await timer.value } else { try await self.standStill() }
                    return .stoodStill
                } catch {
                    return .timerEnded
                }
            }
            defer {
                timer?.cancel()
                tasks.cancelAll()
            }
            var isOverdue = false
            while let step = await tasks.nextResult() {
                switch step {
                case .success(.returned(let value)):
                    return value
                case .success(.stoodStill):
                    isOverdue = true
                    // First: a closure that ends as soon as it is cancelled is named all the same.
                    whenOverdue(overdue())
                    tasks.cancelAll()
                case .success(.timerEnded):
                    break
                case .failure(let error):
                    guard isOverdue, !Task.isCancelled else { throw error }
                    throw overdue(error)
                }
            }
            preconditionFailure("The call \(name) has neither returned nor failed")
        }
    }

    /// Returns when there was no progress for the limit.
    private func standStill() async throws {
        while true {
            let begin = progress.withLockedValue { $0.last }
            let deadline = begin + limit.duration
            try await clock.sleep(until: deadline)
            let now = clock.now
            let standsStill = progress.withLockedValue { progress in
                // The work ends later than now; and a suspended task makes no progress.
                if progress.work > 0 || clock.wasSuspended(before: deadline) { progress.last = max(progress.last, now) }
                return progress.last == begin
            }
            if standsStill { return }
        }
    }

    private func overdue(_ error: (any Error)? = nil) -> OverdueCallError {
        OverdueCallError(call: name, limit: limit, underlyingError: error)
    }
}

/// How long a call into the app's code may take.
package struct AppCallLimit: Sendable {
    /// The time without progress, or without an answer: more than 0, and at most ``Argument/longestTime``.
    package let duration: Duration
    /// The option that the app changes it with, for messages: `ConnectOptions.uploadLimit`.
    package let option: String

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - duration: The time. A longer one than ``Argument/longestTime``, which clocks may not be able to add, becomes that.
    ///   - option: The option that the app changes it with.
    package init(_ duration: Duration, option: String) {
        self.duration = min(duration, Argument.longestTime)
        self.option = option
    }
}

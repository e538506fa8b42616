import NIOConcurrencyHelpers

/// The methods of the app's connector that run for one connection.
///
/// They are the app's code, and may take no notice of their cancellation. Each runs in a task of its own, so that a loop that is
/// cancelled ends without waiting for them; the connection waits for them last.
final class ConnectorCalls: Sendable {
    private struct State {
        /// Cancels each method that has not returned.
        var running: [UInt64: @Sendable () -> Void] = [:]
        var lastID: UInt64 = 0
        var isCancelled = false
        /// Finishes when the last method has returned after all were cancelled.
        var end: AsyncStream<Void>.Continuation?
    }

    /// The connection for which the current task, or the one that has started it, runs a method.
    ///
    /// A call of a database looks the same wherever it comes from: the connector of an app has a database of its own to call, and only
    /// `uploadData` is handed one. So the task has to tell.
    @TaskLocal static var connection: ConnectionRules.ConnectionID?

    private let connection: ConnectionRules.ConnectionID
    private let clock: ElapsedClock
    private let state = NIOLockedValueBox(State())

    /// Creates the calls of a connection.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - clock: Measures how long methods take.
    init(of connection: ConnectionRules.ConnectionID, clock: ElapsedClock) {
        self.connection = connection
        self.clock = clock
    }

    /// Runs a method for its answer.
    ///
    /// After the limit, or when the task is cancelled, the method is cancelled and no longer waited for: its answer is ignored.
    ///
    /// - Parameters:
    ///   - name: The name of the method.
    ///   - limit: How long it may take.
    ///   - method: Calls the connector.
    /// - Returns: What it returns.
    /// - Throws: What it throws, ``OverdueCallError``, or `CancellationError`.
    func answer<Value: Sendable>(
        to name: String,
        within limit: AppCallLimit,
        _ method: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await clock.withAnswerLimit(limit.duration, otherwise: OverdueCallError(call: name, limit: limit)) {
            try await self.run(method)
        }
    }

    /// Runs a method for its effect.
    ///
    /// After the limit the method is cancelled, and waited for all the same. When the task is cancelled, the method is cancelled
    /// and no longer waited for.
    ///
    /// - Parameters:
    ///   - name: The name of the method.
    ///   - limit: How long it may go on without progress.
    ///   - method: Calls the connector.
    ///   - whenOverdue: Called when the limit was reached, while the method may go on.
    /// - Returns: What it returns.
    /// - Throws: What it throws, ``OverdueCallError`` when it throws after the limit, or `CancellationError`.
    func perform<Value: Sendable>(
        _ name: String,
        within limit: AppCallLimit,
        _ method: @escaping @Sendable () async throws -> Value,
        whenOverdue: @escaping @Sendable (OverdueCallError) -> Void
    ) async throws -> Value {
        try await run { [clock] in
            try await AppCall(name, limit: limit, clock: clock).run(method, whenOverdue: whenOverdue)
        }
    }

    /// Runs a method.
    ///
    /// When the task is cancelled, the method is cancelled and no longer waited for.
    ///
    /// - Parameter method: Calls the connector.
    /// - Returns: What it returns.
    /// - Throws: What it throws, or `CancellationError`.
    func run<Value: Sendable>(_ method: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = state.withLockedValue { state -> LeavableTask<Value>? in
            guard !state.isCancelled else { return nil }
            state.lastID += 1
            let id = state.lastID
            let task = LeavableTask(whenReturned: { self.returned(id) }) { [connection] in
                try await Self.$connection.withValue(connection, operation: method)
            }
            state.running[id] = { task.cancel() }
            return task
        }
        guard let task else { throw CancellationError() }
        return try await withTaskCancellationHandler {
            try await task.value()
        } onCancel: {
            task.leave(throwing: CancellationError())
        }
    }

    private func returned(_ id: UInt64) {
        let end = state.withLockedValue { state -> AsyncStream<Void>.Continuation? in
            state.running[id] = nil
            return state.running.isEmpty ? state.end : nil
        }
        end?.finish()
    }

    /// Cancels all methods; later ones do not begin.
    func cancel() {
        let cancellations = state.withLockedValue { state in
            state.isCancelled = true
            return state.running.values
        }
        for cancel in cancellations { cancel() }
    }

    /// Waits until all methods have returned, but not longer than a limit.
    ///
    /// Call it once, after ``cancel()``.
    ///
    /// - Parameter limit: How long methods are waited for that take no notice of their cancellation.
    /// - Returns: Whether they have returned.
    func haveEnded(within limit: Duration) async -> Bool {
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        let hasEnded = state.withLockedValue { state in
            state.end = continuation
            return state.running.isEmpty
        }
        if hasEnded { return true }
        return await withTaskGroup(of: Bool.self) { [clock] tasks in
            tasks.addTask {
                for await _ in end {}
                return !Task.isCancelled
            }
            tasks.addTask { (try? await clock.sleep(for: limit)) == nil }
            defer { tasks.cancelAll() }
            return await tasks.next() == true
        }
    }
}

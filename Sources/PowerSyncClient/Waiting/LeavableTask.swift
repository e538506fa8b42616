import NIOConcurrencyHelpers

/// A task that runs the app's code, and can be left behind: its waiters go on at once, and its result has no effect.
///
/// Cancelling a task is only a request, and the app's code may take no notice of it.
///
/// ```swift
/// let task = LeavableTask { try await connector.fetchCredentials() }
/// // One task waits:
/// let credentials = try await task.value()
/// // Another one has waited long enough:
/// task.leave(throwing: CancellationError())
/// ```
package final class LeavableTask<Value: Sendable>: Sendable {
    private struct State: WaitedState {
        var result: Result<Value, any Error>?
        var waiters = Waiters<Value>()

        /// Gives the result to those that wait, unless there is one already.
        mutating func end(_ result: Result<Value, any Error>) -> [Waiters<Value>.Waiter] {
            guard self.result == nil else { return [] }
            self.result = result
            return waiters.takeAll()
        }
    }

    private let state: NIOLockedValueBox<State>
    private let task: Task<Void, Never>

    /// Starts the task.
    ///
    /// - Parameters:
    ///   - whenReturned: Called when the body has returned, before its result is given, also when the task was left behind.
    ///   - body: Runs the app's code.
    package init(
        whenReturned: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () async throws -> Value
    ) {
        let state = NIOLockedValueBox(State())
        self.state = state
        task = Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            whenReturned()
            for waiter in state.withLockedValue({ $0.end(result) }) { waiter.resume(with: result) }
        }
    }

    /// Runs the app's code, and waits for it.
    ///
    /// From the first moment on, a cancellation of the waiting task cancels the body. With ``init(whenReturned:_:)`` and ``value()`` the
    /// body may have gone some way before the waiting task waits for it.
    ///
    /// - Parameters:
    ///   - whenStarted: Called with the task once it has started.
    ///   - body: Runs the app's code.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, the error of ``leave(throwing:)``, or `CancellationError` when the waiting task was cancelled before
    ///   the body began.
    package static func run(
        whenStarted: (LeavableTask) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let start = NIOLockedValueBox<(task: LeavableTask?, isCancelled: Bool)>((nil, false))
        return try await withTaskCancellationHandler {
            // It starts under the lock: a cancellation finds it, or keeps it from starting.
            let task = try start.withLockedValue { start in
                guard !start.isCancelled else { throw CancellationError() }
                let task = LeavableTask(body)
                start.task = task
                return task
            }
            whenStarted(task)
            return try await task.value()
        } onCancel: {
            let task = start.withLockedValue { start in
                start.isCancelled = true
                return start.task
            }
            task?.cancel()
        }
    }

    /// Cancels the body.
    package func cancel() {
        task.cancel()
    }

    /// Cancels the body, and no longer waits for it.
    ///
    /// Does nothing when it has returned.
    ///
    /// - Parameter error: What those that wait get.
    package func leave(throwing error: any Error) {
        task.cancel()
        for waiter in state.withLockedValue({ $0.end(.failure(error)) }) { waiter.resume(throwing: error) }
    }

    /// Waits for the result.
    ///
    /// When the waiting task is cancelled, the body is cancelled and waited for.
    ///
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or the error of ``leave(throwing:)``.
    package func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await state.waitIgnoringCancellation { $0.result }
        } onCancel: {
            task.cancel()
        }
    }

    /// Waits until the body has returned, whatever its result, or is left behind.
    ///
    /// The body is not cancelled by a cancellation of the waiting task.
    ///
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package func end() async throws {
        do {
            _ = try await state.wait { $0.result }
        } catch {
            try Task.checkCancellation()
        }
    }
}

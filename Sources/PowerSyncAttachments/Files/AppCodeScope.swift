import NIOConcurrencyHelpers
import PowerSyncClient

/// A piece of a queue's work that can go on without the app's code that it has called.
///
/// ```
///        leave(error)
///  open ──────────────► left: calls that have not returned throw the error, and no other call is made
/// ```
///
/// The app's code cannot be ended. A call that is left goes on by itself, in a cancelled task, and what it returns or throws has no
/// effect. Leaving a scope leaves the scopes inside it, too.
final class AppCodeScope: Sendable {
    @TaskLocal private static var current: AppCodeScope?

    private typealias Leaving = @Sendable (PowerSyncAttachmentError) -> Void

    private struct State {
        /// Why the scope was left.
        var error: PowerSyncAttachmentError?
        /// What runs, and how it is left.
        var running: [Int: Leaving] = [:]
        var lastID = 0
    }

    private let outer: AppCodeScope?
    private let state = NIOLockedValueBox(State())

    private init(outer: AppCodeScope?) {
        self.outer = outer
    }

    /// Creates a scope that is in no other one.
    convenience init() {
        self.init(outer: nil)
    }

    /// Creates a scope in that of the current task, if it has one.
    static func nested() -> AppCodeScope {
        AppCodeScope(outer: current)
    }

    /// Why the scope was left; `nil` while it is open.
    var error: PowerSyncAttachmentError? { state.withLockedValue { $0.error } }

    /// Whether this is another scope, or inside it.
    func isInside(_ scope: AppCodeScope) -> Bool {
        chain.contains { $0 === scope }
    }

    private var chain: some Sequence<AppCodeScope> { sequence(first: self) { $0.outer } }

    /// Runs work of this scope in the current task.
    func run<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self, operation: work)
    }

    /// Runs work of this scope in a task of its own, which is cancelled when the scope is left, and waits for it.
    ///
    /// - Returns: What the work returns.
    /// - Throws: What the work throws, or why the scope was left.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await run(work) }
        let id = began { _ in task.cancel() }
        defer { ended(id) }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch let cancellation as CancellationError {
            guard !Task.isCancelled, let error else { throw cancellation }
            throw error
        }
    }

    /// Goes on without the calls that have not returned; does nothing the second time.
    ///
    /// - Parameter error: What the calls throw.
    func leave(_ error: PowerSyncAttachmentError) {
        let running = state.withLockedValue { state -> [Int: Leaving] in
            guard state.error == nil else { return [:] }
            state.error = error
            defer { state.running = [:] }
            return state.running
        }
        for leaving in running.values { leaving(error) }
    }

    /// Runs work that belongs to no scope.
    static func outside<Value: Sendable>(_ work: () async throws -> Value) async rethrows -> Value {
        try await $current.withValue(nil, operation: work)
    }

    /// Checks that the work of the current task is still wanted.
    ///
    /// - Throws: `CancellationError`, or why a scope of the task was left.
    static func check() throws {
        try Task.checkCancellation()
        try checkIsOpen()
    }

    private static func checkIsOpen() throws {
        guard let current else { return }
        for scope in current.chain {
            if let error = scope.error { throw error }
        }
    }

    /// Calls the app's code, and waits until it returns or a scope of the task is left.
    ///
    /// - Parameter body: Calls it. Without a scope it is waited for in any case.
    /// - Returns: What it returns.
    /// - Throws: What it throws, or why a scope was left.
    static func call<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard let current else { return try await body() }
        try checkIsOpen()
        let answer = AppCodeAnswer<Value>()
        let task = Task {
            do {
                answer.set(.success(try await outside(body)))
            } catch {
                answer.set(.failure(error))
            }
        }
        let ids = current.chain.map { scope in
            let id = scope.began { error in
                task.cancel()
                answer.set(.failure(error))
            }
            return (scope, id)
        }
        defer { for (scope, id) in ids { scope.ended(id) } }
        return try await withTaskCancellationHandler {
            try await answer.value()
        } onCancel: {
            task.cancel()
        }
    }

    /// Something runs that can be left.
    ///
    /// - Parameter leaving: Called when the scope is left, or at once if it was.
    /// - Returns: What to end it with.
    private func began(_ leaving: @escaping Leaving) -> Int {
        let (id, error) = state.withLockedValue { state in
            state.lastID += 1
            if state.error == nil { state.running[state.lastID] = leaving }
            return (state.lastID, state.error)
        }
        if let error { leaving(error) }
        return id
    }

    private func ended(_ id: Int) {
        // The closure must not go away under the lock.
        _ = state.withLockedValue { $0.running.removeValue(forKey: id) }
    }
}

/// What a call has returned or thrown; the first result counts.
private final class AppCodeAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case given(Result<Value, any Error>)
    }

    private let state = NIOLockedValueBox(State.open)

    func set(_ result: Result<Value, any Error>) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open:
                state = .given(result)
                return nil
            case .awaited(let waiter):
                state = .given(result)
                return waiter
            case .given:
                return nil
            }
        }
        waiter?.resume(with: result)
    }

    /// Waits for the result, also in a cancelled task.
    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { waiter in
            let result = state.withLockedValue { state -> Result<Value, any Error>? in
                if case .given(let result) = state { return result }
                state = .awaited(waiter)
                return nil
            }
            if let result { waiter.resume(with: result) }
        }
    }
}

package import NIOConcurrencyHelpers

/// The tasks that wait for something of a state that is kept under a lock, in the order of their coming.
///
/// ```swift
/// struct State: WaitedState {
///     var isOpen = false
///     var waiters = Waiters<Void>()
/// }
/// let state = NIOLockedValueBox(State())
///
/// // Waits:
/// try await state.wait { $0.isOpen ? .success(()) : nil }
/// // Ends all waits, outside of the lock:
/// let waiters = state.withLockedValue { state in
///     state.isOpen = true
///     return state.waiters.takeAll()
/// }
/// for waiter in waiters { waiter.resume() }
/// ```
package struct Waiters<Element: Sendable>: Sendable {
    /// A task that waits; to be resumed once, outside of the lock.
    package typealias Waiter = CheckedContinuation<Element, any Error>

    private var lastID: UInt64 = 0
    private var waiting: [(id: UInt64, waiter: Waiter)] = []

    /// Creates an empty list.
    package init() {}

    /// Whether no task waits.
    package var isEmpty: Bool { waiting.isEmpty }

    /// Takes the task out that has waited longest.
    package mutating func takeFirst() -> Waiter? {
        waiting.isEmpty ? nil : waiting.removeFirst().waiter
    }

    /// Takes all tasks out.
    package mutating func takeAll() -> [Waiter] {
        defer { waiting = [] }
        return waiting.map(\.waiter)
    }

    /// Makes a number for a task that is going to wait, by which it can be taken out.
    package mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Takes the task with a number out; `nil` when it does not wait.
    package mutating func take(_ id: UInt64) -> Waiter? {
        waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0).waiter }
    }

    fileprivate mutating func append(_ waiter: Waiter, id: UInt64) {
        waiting.append((id, waiter))
    }
}

/// A state under a lock that tasks wait for.
package protocol WaitedState: Sendable {
    /// What a task gets that has waited.
    associatedtype Element: Sendable
    /// The tasks that wait.
    var waiters: Waiters<Element> { get set }
}

extension NIOLockedValueBox where Value: Sendable {
    /// Waits until another task takes this one out of the waiters and resumes it.
    ///
    /// - Parameters:
    ///   - waiters: Where the task waits.
    ///   - id: The task's number among them; `nil` for a new one.
    ///   - outcome: Called once, under the lock: the outcome, or `nil` to wait.
    ///   - whenWaiting: Called when the task has to wait, outside of the lock.
    /// - Returns: What `outcome` or the other task says.
    /// - Throws: What `outcome` or the other task says, or `CancellationError`, also in a task that was cancelled before.
    package func wait<Element: Sendable>(
        _ waiters: any WritableKeyPath<Value, Waiters<Element>> & Sendable,
        id: UInt64? = nil,
        _ outcome: (inout Value) -> Result<Element, any Error>?,
        whenWaiting: () -> Void = {}
    ) async throws -> Element {
        let id = id ?? withLockedValue { $0[keyPath: waiters].newID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiters<Element>.Waiter) in
                let result = withLockedValue { state -> Result<Element, any Error>? in
                    // Checked under the lock: a cancellation after this point finds the waiter.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let result = outcome(&state) { return result }
                    state[keyPath: waiters].append(waiter, id: id)
                    return nil
                }
                if let result { waiter.resume(with: result) } else { whenWaiting() }
            }
        } onCancel: {
            withLockedValue { $0[keyPath: waiters].take(id) }?.resume(throwing: CancellationError())
        }
    }
}

extension NIOLockedValueBox where Value: WaitedState {
    /// Waits as ``wait(_:id:_:whenWaiting:)`` does, in a state with one kind of waiters.
    package func wait(
        _ outcome: (inout Value) -> Result<Value.Element, any Error>?,
        whenWaiting: () -> Void = {}
    ) async throws -> Value.Element {
        try await wait(\.waiters, outcome, whenWaiting: whenWaiting)
    }

    /// Waits as ``wait(_:whenWaiting:)`` does, even if the task is cancelled.
    ///
    /// - Parameter outcome: Called once, under the lock: the outcome, or `nil` to wait.
    /// - Returns: What `outcome` or the other task says.
    /// - Throws: What `outcome` or the other task says.
    package func waitIgnoringCancellation(
        _ outcome: (inout Value) -> Result<Value.Element, any Error>?
    ) async throws -> Value.Element {
        try await withCheckedThrowingContinuation { (waiter: Waiters<Value.Element>.Waiter) in
            let result = withLockedValue { state -> Result<Value.Element, any Error>? in
                if let result = outcome(&state) { return result }
                let id = state.waiters.newID()
                state.waiters.append(waiter, id: id)
                return nil
            }
            if let result { waiter.resume(with: result) }
        }
    }
}

import NIOConcurrencyHelpers
import PowerSyncClient

/// A lock for tasks that call the app's code while they hold it.
///
/// Turns are granted in the order of asking. Each runs in a task of its own (``LeavableTask``), since the app's code may never return: a
/// turn that is left behind is cancelled and has lost the lock. What it calls in the database afterwards throws `CancellationError`.
///
/// ```
///                     asked for            the one before has ended, or is left behind
///  withTurn(of:) ──► in the line ────────────────────────────────────────────────────► has the lock ──► ended
///                       │ take(insistingAfter:) behind it in the line                      │ the same, or leave(turnOf:)
///                       └─────────────────────────────────► error ◄───────────────────────┘
/// ```
final class TurnLock: Sendable {
    /// A turn that has the lock.
    final class Turn: Sendable {
        fileprivate let lock: TurnLock
        fileprivate let outer: Turn?
        /// Tasks that the turn did not wait for keep the task-local value; they may ask for a turn of their own.
        fileprivate let isOver = NIOLockedValueBox(false)

        fileprivate init(of lock: TurnLock) {
            self.lock = lock
            outer = TurnLock.current
        }

        /// Runs a part of the turn: what it calls cannot ask for another turn.
        func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
            try await TurnLock.$current.withValue(self, operation: body)
        }

        /// The turn waits for the app's code for too long: others that insist do not wait for it, those that wait already neither.
        ///
        /// - Parameter error: What they get.
        func becameOverdue(throwing error: any Error) {
            let waiters = lock.state.withLockedValue { state -> [Waiters<Void>.Waiter] in
                guard !isOver.withLockedValue(\.self) else { return [] }
                state.overdue = error
                return state.takers.compactMap { state.waiters.take($0) }
            }
            for waiter in waiters { waiter.resume(throwing: error) }
        }

        /// Gives the lock to the turn that has waited longest.
        ///
        /// Call it once.
        func end() {
            isOver.withLockedValue { $0 = true }
            lock.unlock()
        }
    }

    private struct State: WaitedState {
        var isHeld = false
        /// Leaves the turn behind that has the lock; `nil` while none has it, or one that is not left behind.
        var leave: (@Sendable (any Error) -> Void)?
        /// Whose turn it is.
        var owner: ObjectIdentifier?
        /// The error for those that insist, while a turn has the lock that is overdue.
        var overdue: (any Error)?
        /// How many wait that leave the turns before them behind.
        var insisting = 0
        /// The numbers of those that may be waiting in ``TurnLock/take(insistingAfter:_:)``.
        var takers: Set<UInt64> = []
        var waiters = Waiters<Void>()

        mutating func take() -> Result<Void, any Error>? {
            guard !isHeld else { return nil }
            isHeld = true
            return .success(())
        }
    }

    @TaskLocal private static var current: Turn?

    private let state = NIOLockedValueBox(State())
    private let error: any Error & Sendable

    /// Creates a free lock.
    ///
    /// - Parameter error: What turns get that are left behind because another one insists.
    init(error: any Error & Sendable) {
        self.error = error
    }

    /// Whether this task runs for a turn that has the lock: asking for another one would never end.
    var isHeldByThisTask: Bool {
        var turn = TurnLock.current
        while let inner = turn {
            if inner.lock === self, !inner.isOver.withLockedValue(\.self) { return true }
            turn = inner.outer
        }
        return false
    }

    /// Runs a body while no other turn runs.
    ///
    /// - Parameters:
    ///   - owner: What ``leave(turnOf:)`` names.
    ///   - body: May call the app's code. It is cancelled with the task that waits for it.
    /// - Returns: What the body returns.
    /// - Throws: `CancellationError` when the task is cancelled while it waits for its turn; the error of the lock when the turn is left
    ///   behind; else what the body throws.
    func withTurn<Value: Sendable>(
        of owner: ObjectIdentifier? = nil,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await state.wait { $0.take() }
        guard state.withLockedValue({ $0.insisting == 0 }) else {
            unlock()
            throw error
        }
        let turn = Turn(of: self)
        defer { turn.end() }
        return try await LeavableTask.run { task in
            let isInsistedOn = state.withLockedValue { state in
                (state.leave, state.owner) = ({ task.leave(throwing: $0) }, owner)
                return state.insisting > 0
            }
            if isInsistedOn { task.leave(throwing: error) }
        } _: {
            try await turn.run(body)
        }
    }

    /// Takes the lock until ``Turn/end()``, and waits for the turns before no longer than a limit: then they are left behind.
    ///
    /// The turn is never left behind, so it waits for nothing of the app's without a limit (``Turn/becameOverdue(throwing:)``).
    ///
    /// - Parameters:
    ///   - limit: How long turns before this one may take.
    ///   - clock: Measures the limit.
    /// - Returns: The turn.
    /// - Throws: `CancellationError` when the task is cancelled while it waits, or the error of a turn that is overdue.
    func take(insistingAfter limit: Duration, _ clock: ElapsedClock) async throws -> Turn {
        let isInsisting = NIOLockedValueBox(false)
        let id = state.withLockedValue { state in
            let id = state.waiters.newID()
            state.takers.insert(id)
            return id
        }
        defer { _ = state.withLockedValue { $0.takers.remove(id) } }
        let result = await withTaskGroup(of: Void.self) { timer in
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await state.wait(\.waiters, id: id, { $0.overdue.map { .failure($0) } ?? $0.take() }) {
                        timer.addTask {
                            guard (try? await clock.sleep(for: limit)) != nil else { return }
                            isInsisting.withLockedValue { $0 = true }
                            self.insist()
                        }
                    }
                )
            } catch {
                result = .failure(error)
            }
            timer.cancelAll()
            return result
        }
        // After the timer has ended, which may have fired at the same time.
        if isInsisting.withLockedValue({ $0 }) { state.withLockedValue { $0.insisting -= 1 } }
        try result.get()
        return Turn(of: self)
    }

    private func insist() {
        let leave = state.withLockedValue { state in
            state.insisting += 1
            return state.leave
        }
        leave?(error)
    }

    /// Leaves the turn behind that has the lock, if it is one of an owner; it gets a `CancellationError`.
    func leave(turnOf owner: ObjectIdentifier) {
        let leave = state.withLockedValue { $0.owner == owner ? $0.leave : nil }
        leave?(CancellationError())
    }

    private func unlock() {
        let next = state.withLockedValue { state in
            let next = state.waiters.takeFirst()
            state.isHeld = next != nil
            (state.leave, state.owner, state.overdue) = (nil, nil, nil)
            return next
        }
        next?.resume()
    }
}

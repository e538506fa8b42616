package import GRDB
import NIOConcurrencyHelpers

/// A task's turn on a database connection: cancellable while it waits, not any more once it has begun.
///
/// GRDB's own `async` methods interrupt a running access when its task is cancelled. Ours must run to their end: their result may
/// be committed already, and an interrupt that comes while a transaction is being rolled back leaves it open, which ends the
/// process. So tasks go through GRDB's completion handlers, with this in between:
///
/// ```
///            wait(_:)             begin()         end(_:)        outcome()
///  created ───────────► waiting ───────────► begun ───────► ended ─────────► closed
///     │ cancel()           │ cancel(): the task throws CancellationError
///     └────► cancelled ◄───┘
/// ```
///
/// `wait(_:)` in `cancelled` throws at once; `begin()` in `cancelled` does nothing; `cancel()` from `begun` on does nothing.
/// The outcome goes from the database's thread to the task under the lock, which orders the two, also for ThreadSanitizer; then
/// the turn, which that thread may let go of later, has it no more.
package final class DatabaseTurn<Value: Sendable>: Sendable {
    private typealias Continuation = CheckedContinuation<Void, Never>

    private enum State {
        case created
        case waiting(Continuation)
        case begun
        case ended(Result<Value, any Error>)
        case closed
        case cancelled
    }

    private let state = NIOLockedValueBox(State.created)

    private init() {}

    /// Waits for a turn and carries out what it is for.
    ///
    /// - Parameters:
    ///   - ask: Asks GRDB for a connection, which it gives to the handler.
    ///   - body: What to do with the connection, or with the reason why there is none.
    /// - Returns: The result of `body`.
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins; what `body` throws.
    package static func take(
        _ ask: (_ handler: @escaping @Sendable (Result<Database, any Error>) -> Void) -> Void,
        _ body: @escaping @Sendable (Result<Database, any Error>) throws -> Value
    ) async throws -> Value {
        let turn = DatabaseTurn()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard turn.wait(continuation) else { return continuation.resume() }
                ask { db in
                    guard let continuation = turn.begin() else { return }
                    turn.end(Result { try body(db) })
                    continuation.resume()
                }
            }
        } onCancel: {
            turn.cancel()?.resume()
        }
        return try turn.outcome()
    }

    /// The task waits now.
    ///
    /// - Returns: Whether the turn should be asked for. `false` when the task was cancelled before.
    private func wait(_ continuation: Continuation) -> Bool {
        state.withLockedValue { state in
            switch state {
            case .created:
                state = .waiting(continuation)
                return true
            case .cancelled:
                return false
            case .waiting, .begun, .ended, .closed:
                preconditionFailure("A turn is waited for once, not in state \(state)")
            }
        }
    }

    /// The connection is there.
    ///
    /// - Returns: What to resume after ``end(_:)``; `nil` when there is no waiter any more.
    private func begin() -> Continuation? {
        state.withLockedValue { state in
            switch state {
            case .waiting(let continuation):
                state = .begun
                return continuation
            case .cancelled:
                return nil
            case .created, .begun, .ended, .closed:
                preconditionFailure("A turn begins once, after wait(_:), not in state \(state)")
            }
        }
    }

    /// It is done with the connection.
    private func end(_ outcome: Result<Value, any Error>) {
        state.withLockedValue { $0 = .ended(outcome) }
    }

    /// Takes what came of it, when the task has been resumed.
    private func outcome() throws -> Value {
        let outcome = state.withLockedValue { state -> Result<Value, any Error> in
            switch state {
            case .ended(let outcome):
                state = .closed
                return outcome
            case .cancelled:
                return .failure(CancellationError())
            case .created, .waiting, .begun, .closed:
                preconditionFailure("A turn has an outcome once, at its end, not in state \(state)")
            }
        }
        return try outcome.get()
    }

    /// The task was cancelled.
    ///
    /// - Returns: What to resume, if the task waits.
    private func cancel() -> Continuation? {
        state.withLockedValue { state in
            switch state {
            case .created:
                state = .cancelled
                return nil
            case .waiting(let continuation):
                state = .cancelled
                return continuation
            case .begun, .ended, .closed, .cancelled:
                return nil
            }
        }
    }
}

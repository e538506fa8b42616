import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// The checkpoint requests of one connection (docs/client-sync.md "Checkpoint requests").
///
/// Each iteration agrees with the service on the counter first; see ``StateMachine``. Requests wait for that.
final class CheckpointRequests: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private enum Demand: Comparable, Sendable {
        case iteration
    }

    private struct Guarded: Sendable {
        var machine = StateMachine<Waiter>()
        var nextID: UInt64 = 0
    }

    /// How long the service may take to answer: 40 s, as for a silent stream.
    static let answerLimit = Duration.seconds(40)

    /// After how long a request is posted again.
    private let retryInterval: Duration
    private let database: LocalDatabase
    private let post: @Sendable (WriteCheckpoint, _ clientID: String) async throws -> WriteCheckpoint
    private let clock: ElapsedClock
    private let guarded = NIOLockedValueBox(Guarded())
    /// Fires when somebody waits for an iteration.
    ///
    /// Not an `AsyncStream`, which the first cancelled wait would end for good.
    private let demand = CoalescingTrigger<Demand>()

    /// Creates the requests of a connection.
    ///
    /// - Parameters:
    ///   - retryInterval: After how long a request is posted again.
    ///   - database: Holds the counter.
    ///   - clock: Measures the interval.
    ///   - post: Posts a number and returns the one that the service holds then. Fails when there is no answer in time.
    init(
        retryInterval: Duration,
        database: LocalDatabase,
        clock: ElapsedClock,
        post: @escaping @Sendable (WriteCheckpoint, _ clientID: String) async throws -> WriteCheckpoint
    ) {
        self.retryInterval = retryInterval
        self.database = database
        self.clock = clock
        self.post = post
    }

    /// Takes the next number and posts it, as soon as the counter is agreed on.
    ///
    /// - Returns: The number that a checkpoint has to repeat.
    /// - Throws: ``CheckpointRequestError/notConnecting`` when the connection is given up, what seeding or posting throws,
    ///   `CancellationError`.
    func request() async throws -> WriteCheckpoint {
        try await ready()
        let id = try await database.write { db in try CheckpointCounter.next(db) }
        return try await posted(id)
    }

    /// Waits for the counter to be agreed on.
    private func ready() async throws {
        let id = guarded.withLockedValue { guarded in
            guarded.nextID += 1
            return guarded.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let decision: StateMachine<Waiter>.Demand = guarded.withLockedValue { guarded in
                    // Checked under the lock: a cancellation after this point finds the waiter.
                    if Task.isCancelled { return .fail(CancellationError()) }
                    return guarded.machine.demanded(by: id, waiter)
                }
                switch decision {
                case .go: waiter.resume()
                case .fail(let error): waiter.resume(throwing: error)
                case .wait: demand.fire(.iteration)
                }
            }
        } onCancel: {
            guarded.withLockedValue { $0.machine.cancelled(id) }?.resume(throwing: CancellationError())
        }
    }

    private func posted(_ id: WriteCheckpoint) async throws -> WriteCheckpoint {
        try await post(id, try await database.read { try KeyValueStore.clientID($0) })
    }

    /// Waits until somebody needs an iteration; at once when that is so already.
    ///
    /// For one task at a time. Returns when the task is cancelled, too, and can be called again afterwards.
    ///
    /// - Returns: Whether somebody does.
    @discardableResult
    func waitForDemand() async -> Bool {
        while (try? await demand.wait()) != nil {
            // Whoever asked may have given up since.
            if guarded.withLockedValue({ $0.machine.hasDemand }) { return true }
        }
        return false
    }
}

// What an iteration does.
extension CheckpointRequests {
    /// A stream is being opened.
    func iterationBegan() {
        guarded.withLockedValue { $0.machine.iterationBegan() }
    }

    /// Agrees with the service on the counter.
    ///
    /// - Throws: Why that failed. Those who wait get the same error.
    func seed() async throws {
        do {
            let initial = try await database.read { try CheckpointCounter.initial($0) }
            let id = try await posted(initial)
            try await database.write { db in try CheckpointCounter.seed(id, db) }
        } catch {
            let waiters = guarded.withLockedValue { guarded in
                error is CancellationError ? [] : guarded.machine.seedingFailed(error)
            }
            waiters.forEach { $0.resume(throwing: error) }
            throw error
        }
        guarded.withLockedValue { $0.machine.seeded() }.forEach { $0.resume() }
    }

    /// The stream has ended.
    func iterationEnded() {
        guarded.withLockedValue { $0.machine.iterationEnded() }
    }
}

// What a session does.
extension CheckpointRequests {
    /// Posts the newest number again as long as no checkpoint repeats it, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - isApplied: Whether a checkpoint that covers a number was applied.
    ///   - failed: Called with errors, after which the next interval begins.
    func repost(
        unless isApplied: @escaping @Sendable (WriteCheckpoint) -> Bool,
        failed: @escaping @Sendable (any Error) -> Void
    ) async {
        while !Task.isCancelled {
            do {
                let before = try await current()
                try await clock.sleep(for: retryInterval)
                guard let id = before, try await current() == id, !isApplied(id) else { continue }
                guard guarded.withLockedValue({ $0.machine.isReady }) else { continue }
                _ = try await posted(id)
            } catch {
                guard !Task.isCancelled else { return }
                failed(error)
                try? await clock.sleep(for: retryInterval)
            }
        }
    }

    private func current() async throws -> WriteCheckpoint? {
        try await database.read { try CheckpointCounter.current($0) }
    }

    /// The connection is given up.
    func end() {
        let waiters = guarded.withLockedValue { $0.machine.sessionEnded() }
        waiters.forEach { $0.resume(throwing: CheckpointRequestError.notConnecting) }
    }
}

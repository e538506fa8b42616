import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// The checkpoint requests of one connection (docs/client-sync.md "Checkpoint requests").
///
/// Each iteration agrees with the service on the counter first. Requests wait for that.
///
/// ```
///   iterationBegan          agreed
///  ──────────────► pending ────────► ready
///                   ▲  │ that fails     │
///                   │  ▼                │ iterationEnded
///   iterationBegan  └─ failed           ▼
///                                     pending
///  end, in any state: ended
/// ```
final class CheckpointRequests: Sendable {
    private enum Counter: Sendable {
        /// No iteration has agreed with the service on the counter yet.
        case pending
        case ready
        case failed(any Error)
        case ended
    }

    private struct State: WaitedState {
        var counter = Counter.pending
        /// Requests that wait for the counter: none unless it is pending.
        var waiters = Waiters<Void>()
        /// Requests that are being posted, of which each waits for the end of the connection, too.
        var posting = Waiters<Void>()
    }

    /// How long the service may take to answer: 40 s, as for a silent stream.
    static let answerLimit = Duration.seconds(40)

    /// After how long a request is posted again.
    private let retryInterval: Duration
    private let database: LocalDatabase
    private let post: @Sendable (WriteCheckpoint, _ clientID: String) async throws -> WriteCheckpoint
    private let clock: ElapsedClock
    private let state = NIOLockedValueBox(State())
    /// Fires when a request waits for an iteration.
    ///
    /// Not an `AsyncStream`, which the first cancelled wait would end for good.
    private let demand = CoalescingTrigger<Void>()

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
    /// - Parameter agreeing: Whether the counter is agreed on first if it is not: for connections without iterations.
    /// - Returns: The number that a checkpoint has to repeat.
    /// - Throws: ``CheckpointRequestError/notConnecting`` as soon as the connection is given up, what agreeing or posting throws,
    ///   `CancellationError`.
    func request(agreeing: Bool = false) async throws -> WriteCheckpoint {
        if agreeing {
            iterationBegan()
            if case .pending = state.withLockedValue({ $0.counter }) { try await agree() }
        }
        try await ready()
        let id = try await database.write { db in try CheckpointCounter.next(db) }
        return try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await self.posted(id) }
            tasks.addTask {
                try await self.ended()
                throw CheckpointRequestError.notConnecting
            }
            defer { tasks.cancelAll() }
            guard let number = try await tasks.next() else { throw CancellationError() }
            return number
        }
    }

    /// Waits until the connection is given up.
    private func ended() async throws {
        try await state.wait(\.posting) { state in
            if case .ended = state.counter { .success(()) } else { nil }
        }
    }

    /// Waits for the counter to be agreed on.
    private func ready() async throws {
        try await state.wait { state in
            switch state.counter {
            case .pending: nil
            case .ready: .success(())
            case .failed(let error): .failure(error)
            case .ended: .failure(CheckpointRequestError.notConnecting)
            }
        } whenWaiting: {
            demand.fire()
        }
    }

    private func posted(_ id: WriteCheckpoint) async throws -> WriteCheckpoint {
        try await post(id, try await database.read { try KeyValueStore.clientID($0) })
    }

    /// Waits until a request needs an iteration; at once when one does already.
    ///
    /// For one task at a time. Returns when the task is cancelled, too, and can be called again afterwards.
    ///
    /// - Returns: Whether one does.
    @discardableResult
    func waitForDemand() async -> Bool {
        while (try? await demand.wait()) != nil {
            // The request may have been given up since.
            if state.withLockedValue({ !$0.waiters.isEmpty }) { return true }
        }
        return false
    }
}

// What an iteration does.
extension CheckpointRequests {
    /// A stream is being opened.
    func iterationBegan() {
        state.withLockedValue { state in
            if case .failed = state.counter { state.counter = .pending }
        }
    }

    /// Agrees with the service on the counter.
    ///
    /// - Throws: Why that failed. Requests that wait get the same error.
    func agree() async throws {
        do {
            let initial = try await database.read { try CheckpointCounter.initial($0) }
            let id = try await posted(initial)
            try await database.write { db in try CheckpointCounter.set(db, id) }
        } catch {
            if !(error is CancellationError) { settle(.failed(error)) }
            throw error
        }
        settle(.ready)
    }

    /// Ends the wait for the counter.
    private func settle(_ counter: Counter) {
        let waiters = state.withLockedValue { state -> [Waiters<Void>.Waiter] in
            guard case .pending = state.counter else { return [] }
            state.counter = counter
            return state.waiters.takeAll()
        }
        for waiter in waiters {
            if case .failed(let error) = counter { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }

    /// The stream has ended.
    func iterationEnded() {
        state.withLockedValue { state in
            if case .ready = state.counter { state.counter = .pending }
        }
    }
}

// What a connection does.
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
                guard case .ready = state.withLockedValue({ $0.counter }) else { continue }
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
        let (waiters, posting) = state.withLockedValue { state in
            state.counter = .ended
            return (state.waiters.takeAll(), state.posting.takeAll())
        }
        for request in posting { request.resume() }
        for waiter in waiters { waiter.resume(throwing: CheckpointRequestError.notConnecting) }
    }
}

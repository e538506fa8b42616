import NIOConcurrencyHelpers
import PowerSyncProtocol
import ServiceLifecycle

/// Tells sessions of the checkpoints that concern them (docs/service.md "Fan-out").
///
/// One task of the process follows the storage, reads what a commit has changed, and wakes the sessions that have a
/// changed bucket or lookup. Commits that come faster than that are taken together.
package final class CheckpointDispatcher: Service {
    fileprivate struct State {
        var lastSession: UInt64 = 0
        /// The storage stream that is followed.
        var stream: ActiveReplicationStream?
        /// Its sessions.
        var board: DispatchBoard?
        /// Streams and configs up to this one are not served any more.
        var lastEnded: ServedConfigID?
        var isStopped = false
        var waiters: [SessionID: CheckedContinuation<Void, any Error>] = [:]
        var deliveries = 0

        /// Removes the continuations of waiting sessions, to be resumed after the lock is released.
        mutating func takeWaiters(of sessions: [SessionID]) -> [CheckedContinuation<Void, any Error>] {
            sessions.compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    /// The contents of the dispatcher, for tests and diagnostics.
    package struct Census: Sendable, Equatable {
        /// Registered sessions.
        package var sessions = 0
        /// Sessions that wait for news.
        package var waiting = 0
        /// Whether the dispatcher has no trace of any session.
        package var isEmpty = true
    }

    /// The time between two looks at the storage, which lets several transactions share a line: 10 ms.
    package static let pause = Duration.milliseconds(10)

    /// The ledger of the memory for lines of all sessions.
    package let memory: LineMemory
    /// Runs of operations that several sessions want.
    package let runs: SharedRuns

    private let storage: any BucketStorage
    private let clock: any Clock<Duration>
    private let state = NIOLockedValueBox(State())
    /// Advanced when there is another stream to follow.
    private let streamChanged = ChangeSignal()

    /// Creates a dispatcher, which wakes no session before ``run()``.
    ///
    /// - Parameters:
    ///   - storage: The storage to follow.
    ///   - memory: The ledger of the memory for lines of all sessions; without a limit of unsent lines by default.
    ///   - clock: Measures the pauses.
    package init(
        storage: any BucketStorage,
        memory: LineMemory = LineMemory(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.storage = storage
        self.memory = memory
        runs = SharedRuns(in: memory)
        self.clock = clock
    }

    /// The count of news that sessions have taken.
    package var deliveries: Int { state.withLockedValue(\.deliveries) }

    /// The contents at this moment.
    package var census: Census {
        state.withLockedValue { state in
            let board = state.board
            return Census(
                sessions: board?.count ?? 0,
                waiting: state.waiters.count,
                isEmpty: state.waiters.isEmpty && board?.isEmpty ?? true
            )
        }
    }

    /// Whether more than one session wants a bucket.
    func isShared(_ bucket: BucketName) -> Bool {
        state.withLockedValue { $0.board?.isShared(bucket) ?? false }
    }

    /// A write checkpoint of a user has been recorded.
    ///
    /// - Parameters:
    ///   - userKey: The user of the write checkpoint.
    ///   - position: Checkpoints from there on cover it.
    package func writeCheckpointRecorded(userKey: String, at position: LSN) {
        let waiters = state.withLockedValue { state in
            state.takeWaiters(of: state.board?.expectWriteCheckpoint(of: userKey, at: position) ?? [])
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Write checkpoints of any user may have been recorded: all sessions look for theirs.
    package func writeCheckpointsMissed() {
        let waiters = state.withLockedValue { state in
            state.takeWaiters(of: state.board?.announceWriteCheckpoints() ?? [])
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Following

    /// Follows the storage until shutdown or cancellation; then all sessions end.
    package func run() async throws {
        defer { stop() }
        try await untilShutdown {
            while true {
                let seen = self.streamChanged.version
                if let stream = self.state.withLockedValue({ $0.stream }) {
                    try await self.follow(stream)
                    self.end(stream.serving)
                } else {
                    try await self.streamChanged.wait(after: seen)
                }
            }
        }
    }

    private func follow(_ stream: ActiveReplicationStream) async throws {
        var last: StorageCheckpoint?
        for try await checkpoint in storage.checkpoints(of: stream) {
            publish(checkpoint, try await changes(from: last, to: checkpoint))
            last = checkpoint
            try await clock.sleep(for: Self.pause)
        }
    }

    /// Reads what a commit has changed.
    ///
    /// - Returns: `nil` when there was no session.
    private func changes(
        from last: StorageCheckpoint?,
        to checkpoint: StorageCheckpoint
    ) async throws -> CommitChanges? {
        let isAlone = state.withLockedValue { $0.board?.count ?? 0 } == 0
        guard let last, !isAlone else { return nil }
        do {
            let changes = try await storage.changes(from: last, to: checkpoint)
            let wanted = state.withLockedValue { $0.board?.wantedBuckets(of: changes) }
            guard let wanted, !wanted.all.isEmpty else { return CommitChanges(changes: changes) }
            async let operations = operations(of: wanted.unshared, from: last, to: checkpoint)
            return CommitChanges(
                changes: changes,
                checksums: try await storage.checksums(wanted.all, at: checkpoint),
                operations: try await operations
            )
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // Sessions read the storage themselves, and meet the error where it concerns them.
            return CommitChanges(changes: .unknown)
        }
    }

    /// Reads the operations that a commit has added to buckets that only one session has, if there is memory for them.
    private func operations(
        of buckets: [BucketName],
        from last: StorageCheckpoint,
        to checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: FreshOperations] {
        guard !buckets.isEmpty, memory.fresh.byteCount < memory.fresh.limit else { return [:] }
        let positions = buckets.map { StreamingSyncRequest.BucketPosition(name: $0, after: last.opID) }
        let chunks = try await storage.bucketData(positions, at: checkpoint, limits: FreshOperations.limits)
        return FreshOperations.collect(chunks, after: last.opID, memory: memory.fresh)
    }

    private func publish(_ checkpoint: StorageCheckpoint, _ commit: CommitChanges?) {
        let waiters = state.withLockedValue { state -> [CheckedContinuation<Void, any Error>] in
            guard state.stream?.serving == checkpoint.serving else { return [] }
            return state.takeWaiters(of: state.board?.publish(checkpoint, commit) ?? [])
        }
        runs.forget(before: checkpoint)
        for waiter in waiters { waiter.resume() }
    }

    /// Another stream, or another config of it, is active: all sessions of this one end.
    private func end(_ serving: ServedConfigID) {
        let waiters = state.withLockedValue { $0.stream?.serving == serving ? $0.end() : [] }
        for waiter in waiters { waiter.resume() }
    }

    private func stop() {
        let waiters = state.withLockedValue { state in
            state.isStopped = true
            return state.end()
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Sessions

    /// Registers a session.
    ///
    /// - Parameters:
    ///   - stream: The replication stream that the session serves.
    ///   - userKey: The user whose write checkpoints the session announces.
    /// - Returns: The registration, by which the session waits; finished at once when another replication stream is
    ///   active already.
    func subscribe(to stream: ActiveReplicationStream, userKey: String) -> CheckpointSubscription {
        let (session, replaced) = state.withLockedValue { state in
            state.lastSession += 1
            let session = SessionID(rawValue: state.lastSession)
            return (session, state.add(session, to: stream, userKey: userKey))
        }
        if let replaced {
            for waiter in replaced { waiter.resume() }
            streamChanged.advance()
        }
        return CheckpointSubscription(dispatcher: self, session: session, userKey: userKey)
    }

    /// Whether a session will not be woken any more.
    func isRegistered(_ session: SessionID) -> Bool {
        state.withLockedValue { $0.board?.contains(session) ?? false }
    }

    func settle(_ interest: Interest, of session: SessionID) {
        state.withLockedValue { $0.board?.settle(interest, of: session) }
    }

    func awaitAny(_ session: SessionID, after checkpoint: StorageCheckpoint) {
        state.withLockedValue { $0.board?.awaitAny(session, after: checkpoint) }
    }

    func take(_ session: SessionID) -> CheckpointNews? {
        state.withLockedValue { state in
            let news = state.board?.take(session)
            if news != nil { state.deliveries += 1 }
            return news
        }
    }

    func remove(_ session: SessionID) {
        let waiter = state.withLockedValue { state in
            state.board?.remove(session)
            return state.waiters.removeValue(forKey: session)
        }
        waiter?.resume()
    }

    /// Waits until a session has news, or is not on the board any more.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait(_ session: SessionID) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDone = state.withLockedValue { state in
                    // The handler may have run already; it would not resume the continuation any more.
                    if Task.isCancelled { return true }
                    guard let board = state.board, board.contains(session), !board.hasNews(session) else {
                        return true
                    }
                    state.waiters[session] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            state.withLockedValue { $0.waiters.removeValue(forKey: session) }?.resume(throwing: CancellationError())
        }
    }
}

extension CheckpointDispatcher.State {
    /// Puts a session on the board of its stream, unless another one is active already.
    ///
    /// Waiting sessions are not searched while the board stays the same: when all clients come back at once, thousands
    /// wait already.
    ///
    /// - Returns: When the stream has a new board, the sessions that wait for nothing any more, to be resumed without
    ///   the lock.
    fileprivate mutating func add(
        _ session: SessionID,
        to stream: ActiveReplicationStream,
        userKey: String
    ) -> [CheckedContinuation<Void, any Error>]? {
        if isStopped { return nil }
        if let lastEnded, stream.serving <= lastEnded { return nil }
        if let current = self.stream?.serving, current > stream.serving { return nil }
        var replaced: [CheckedContinuation<Void, any Error>]?
        if self.stream?.serving != stream.serving {
            replaced = end()
            self.stream = stream
            board = DispatchBoard(streamID: stream.id)
        }
        board?.add(session, userKey: userKey)
        return replaced
    }

    /// The stream that is followed has ended, and its board with it.
    ///
    /// - Returns: All sessions that wait, as only those on the board do, to be resumed without the lock.
    fileprivate mutating func end() -> [CheckedContinuation<Void, any Error>] {
        if let stream { lastEnded = stream.serving }
        stream = nil
        board = nil
        defer { waiters = [:] }
        return Array(waiters.values)
    }
}

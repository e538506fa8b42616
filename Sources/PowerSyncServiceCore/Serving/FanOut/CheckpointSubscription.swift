/// The registration of one session with the dispatcher.
///
/// It ends by ``cancel()`` at the end of the session. The last reference to it cancels it, too, for a session that was
/// opened and never run: its first line may lose the race against a time-out or the client's departure.
final class CheckpointSubscription: Sendable {
    private let dispatcher: CheckpointDispatcher
    private let session: SessionID
    private let userKey: String

    init(dispatcher: CheckpointDispatcher, session: SessionID, userKey: String) {
        self.dispatcher = dispatcher
        self.session = session
        self.userKey = userKey
    }

    deinit { cancel() }

    /// Ends the registration: there are no more news.
    func cancel() { dispatcher.remove(session) }

    /// Whether another replication stream has become active, so that the data of this one may be deleted at any time.
    var isFinished: Bool { !dispatcher.isRegistered(session) }

    /// Takes the news, if there are any.
    ///
    /// If the buckets of the client may have changed, the session has to find them at the checkpoint, and then calls
    /// ``settle(_:)``.
    func takeIfAvailable() -> CheckpointNews? { dispatcher.take(session) }

    /// Waits for news and takes them.
    ///
    /// - Returns: `nil` when another replication stream has become active.
    /// - Throws: `CancellationError` when the task is cancelled.
    func next() async throws -> CheckpointNews? {
        while !isFinished {
            if let news = takeIfAvailable() { return news }
            try await dispatcher.wait(session)
        }
        return nil
    }

    /// Sets the buckets and lookups that concern the session, as found at the checkpoint of the last news.
    func settle(_ interest: Interest) {
        dispatcher.settle(interest, of: session)
    }

    /// Asks for any checkpoint after the given one, also one that does not concern the session.
    ///
    /// The news that were taken before count as lost: the scope of the next ones is unknown. A write checkpoint may
    /// bring them at the same checkpoint.
    func awaitAny(after checkpoint: StorageCheckpoint) {
        dispatcher.awaitAny(session, after: checkpoint)
    }

    /// Announces that a write checkpoint of the user becomes visible at a position.
    func expectWriteCheckpoint(at position: LSN) {
        dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
    }
}

/// The place of one session with the dispatcher; free again when the last reference to it goes away.
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

    /// Gives the place back; nothing is told any more.
    func cancel() { dispatcher.remove(session) }

    /// Whether another stream has become active, so that what this one holds may be deleted at any time.
    var isFinished: Bool { !dispatcher.isRegistered(session) }

    /// Takes the news, if there are any.
    ///
    /// If the buckets of the client may be others, they have to be found at the checkpoint, and then told by ``settle(_:)``.
    func takeIfAvailable() -> CheckpointNews? { dispatcher.take(session) }

    /// Waits for news and takes them.
    ///
    /// - Returns: `nil` when another stream has become active.
    /// - Throws: `CancellationError` when the task is cancelled.
    func next() async throws -> CheckpointNews? {
        while !isFinished {
            if let news = takeIfAvailable() { return news }
            try await dispatcher.wait(session)
        }
        return nil
    }

    /// Tells what concerns the session, as found at the checkpoint of the last news.
    func settle(_ interest: Interest) {
        dispatcher.settle(interest, of: session)
    }

    /// Asks for a checkpoint later than one, whether anything concerns the session or not.
    ///
    /// What was taken before counts as lost: the next news are unknown ones. A write checkpoint may bring them at the same
    /// checkpoint.
    func awaitAny(after checkpoint: StorageCheckpoint) {
        dispatcher.awaitAny(session, after: checkpoint)
    }

    /// Tells that a write checkpoint of the user waits for a position.
    func expectWriteCheckpoint(at position: LSN) {
        dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
    }
}

package import PowerSyncProtocol
import PowerSyncSyncConfig

/// Creates write checkpoints (docs/service.md "Write checkpoints of the service").
///
/// The order is what makes them correct: first the source position, which is not before the uploads that the client has
/// finished; then the record; then a marker, which makes replication pass that position even if the source is idle.
/// With the marker before the record, replication could pass it while there is nothing to show yet, and never look
/// again.
///
/// Before all of that, the position that clients have is read, and shown to the source. After a start, the source may be an
/// older copy of what was replicated, before the replicator has noticed it: a position of it would be compared with positions
/// that it does not have, and the number would be visible before the uploads are.
package struct WriteCheckpointIssuer: Sendable {
    private let storage: any BucketStorage
    private let source: any ReplicationSource
    private let dispatcher: CheckpointDispatcher?
    /// One record of a user at a time, and a few of all users.
    ///
    /// A client may have several requests under way. Recorded in another order than their positions were read, the last
    /// number would be visible before the position of an earlier one is reached.
    private let queues = (0..<4).map { _ in ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max) }

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - storage: Where write checkpoints are recorded.
    ///   - source: Tells its position.
    ///   - dispatcher: Wakes the sessions of the user when the write checkpoint is visible, if there are any.
    package init(
        storage: any BucketStorage,
        source: any ReplicationSource,
        dispatcher: CheckpointDispatcher? = nil
    ) {
        self.storage = storage
        self.source = source
        self.dispatcher = dispatcher
    }

    /// Creates a write checkpoint for everything that has been committed to the source before the call.
    ///
    /// - Parameter userKey: `user_id/client_id`, or `user_id` for a client that sends no id.
    /// - Returns: A number that is larger than all earlier ones of the key.
    /// - Throws: ``ManagedWriteCheckpointError``, ``BucketStorageError`` with code `noActiveStream` before the first activation, or an
    ///   error of the source.
    package func create(userKey: String) async throws -> WriteCheckpoint {
        try await record(for: userKey) { head in try await storage.createWriteCheckpoint(userKey: userKey, head: head) }
    }

    /// Records a number that the client has chosen, for everything that has been committed to the source before the call.
    ///
    /// - Parameters:
    ///   - id: The number, at least 1.
    ///   - userKey: As in ``create(userKey:)``.
    /// - Returns: The recorded number: the larger one of `id` and what was recorded before.
    /// - Throws: As ``create(userKey:)``.
    package func request(_ id: WriteCheckpoint, userKey: String) async throws -> WriteCheckpoint {
        try await record(for: userKey) { head in
            try await storage.recordCheckpointRequest(id, userKey: userKey, head: head)
        }
    }

    private func record(
        for userKey: String,
        _ body: (SourcePosition) async throws -> WriteCheckpoint
    ) async throws -> WriteCheckpoint {
        if try await storage.activeStream()?.plan.hasEvents == true { throw ManagedWriteCheckpointError() }
        let queue = queues[Int(UInt(bitPattern: userKey.hashValue) % UInt(queues.count))]
        let (head, checkpoint) = try await queue.withSlot {
            let head = try await source.head(having: try await storage.publishedPosition())
            return (head, try await body(head))
        }
        // After the record, so that the sessions that are woken find it.
        dispatcher?.writeCheckpointRecorded(userKey: userKey, at: head.lsn)
        // Also when nothing was recorded: a repeated request makes up for a marker that was lost.
        try await source.emitMarker()
        return checkpoint
    }
}

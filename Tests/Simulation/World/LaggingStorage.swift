import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// The storage of a node, as another process than the one that writes to it sees it: what was published it knows some seconds later, or
/// when it asks.
///
/// `@unchecked`: the simulation has one thread.
final class LaggingStorage: BucketStorage, @unchecked Sendable {
    private let base: any BucketStorage
    private let feed = CheckpointFeed()
    /// Makes the time until the next look.
    private let pause: () -> Duration
    /// Called after a write checkpoint was recorded.
    private let didRecord: (_ userKey: String, _ position: LSN) -> Void

    /// Creates the view of a storage.
    ///
    /// - Parameters:
    ///   - base: The storage.
    ///   - pause: Makes the time until the next look.
    ///   - didRecord: Called after a write checkpoint was recorded, which the node with the storage has to be told.
    init(
        _ base: any BucketStorage,
        pause: @escaping () -> Duration,
        didRecord: @escaping (_ userKey: String, _ position: LSN) -> Void
    ) {
        (self.base, self.pause, self.didRecord) = (base, pause, didRecord)
    }

    // MARK: What others publish

    func activeStream() async throws -> ActiveReplicationStream? {
        // A client may come from a node that knows more.
        let stream = try await base.activeStream()
        if let stream { feed.publish(stream.checkpoint) }
        return stream
    }

    func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence { feed.checkpoints(of: stream.serving) }

    func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
        look(.streamsChanged)
        while true {
            _ = try await activeStream()
            look(.writeCheckpointsMissed)
            look(.looked)
            try await Task.sleep(for: pause())
        }
    }

    // MARK: What is the storage's

    func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) async throws
        -> ReplicationStream
    { try await base.deploy(content, versionLabel: versionLabel, plan: plan, mode: mode) }

    func streams() async throws -> [ReplicationStream] { try await base.streams() }

    func progress(of stream: ReplicationStreamID) async throws -> ReplicationStreamProgress {
        try await base.progress(of: stream)
    }

    func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream { try await base.restart(stream) }

    func skipWriteCheckpoints(head: SourcePosition) async throws { try await base.skipWriteCheckpoints(head: head) }

    func deleteData(of stream: ReplicationStreamID) async throws { try await base.deleteData(of: stream) }

    func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result { try await base.withWriter(of: stream, body) }

    func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) async throws -> CheckpointChanges {
        try await base.changes(from: earlier, to: later)
    }

    func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        try await base.parameterRows(lookups, at: checkpoint, limit: limit)
    }

    func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] { try await base.checksums(buckets, at: checkpoint) }

    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] { try await base.bucketData(positions, at: checkpoint, limits: limits) }

    func publishedPosition() async throws -> SourcePosition? { try await base.publishedPosition() }

    func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint {
        defer { didRecord(userKey, head.lsn) }
        return try await base.createWriteCheckpoint(userKey: userKey, head: head)
    }

    func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint {
        defer { didRecord(userKey, head.lsn) }
        return try await base.recordCheckpointRequest(id, userKey: userKey, head: head)
    }

    func visibleWriteCheckpoint(userKey: String, at checkpoint: StorageCheckpoint) async throws -> WriteCheckpoint? {
        try await base.visibleWriteCheckpoint(userKey: userKey, at: checkpoint)
    }

    func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN? {
        try await base.nextWriteCheckpoint(userKey: userKey, after: checkpoint)
    }

    func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList { try await base.buckets(of: stream, search: search, offset: offset, limit: limit) }

    func sizes(after version: Int64?) async throws -> StorageSizes? { try await base.sizes(after: version) }
    func seal() async throws { try await base.seal() }
    func compact() async throws -> CompactionResult { try await base.compact() }
    func database() async throws -> DatabaseID? { try await base.database() }
    func size() async throws -> Int64 { try await base.size() }
    var fileBacked: (any FileBacked)? { nil }
    func close() throws {}
}

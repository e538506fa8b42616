package import PowerSyncProtocol
package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// A storage in front of another one, which does everything that it does not do itself.
package protocol ForwardingStorage: BucketStorage {
    associatedtype Storage: BucketStorage

    /// Does the work.
    var storage: Storage { get }
}

extension ForwardingStorage {
    package var fileBacked: (any FileBacked)? { storage.fileBacked }

    package func activeStream() async throws -> ActiveReplicationStream? { try await storage.activeStream() }

    package func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) async throws -> ReplicationStream {
        try await storage.deploy(content, versionLabel: versionLabel, plan: plan, mode: mode)
    }

    package func streams() async throws -> [ReplicationStream] { try await storage.streams() }

    package func progress(of stream: ReplicationStreamID) async throws -> ReplicationStreamProgress {
        try await storage.progress(of: stream)
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        try await storage.restart(stream)
    }

    package func skipWriteCheckpoints(head: SourcePosition) async throws {
        try await storage.skipWriteCheckpoints(head: head)
    }

    package func deleteData(of stream: ReplicationStreamID) async throws { try await storage.deleteData(of: stream) }

    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        try await storage.withWriter(of: stream, body)
    }

    package func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence {
        storage.checkpoints(of: stream)
    }

    package func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) async throws -> CheckpointChanges
    {
        try await storage.changes(from: earlier, to: later)
    }

    package func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        try await storage.parameterRows(lookups, at: checkpoint, limit: limit)
    }

    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        try await storage.checksums(buckets, at: checkpoint)
    }

    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        try await storage.bucketData(positions, at: checkpoint, limits: limits)
    }

    package func publishedPosition() async throws -> SourcePosition? { try await storage.publishedPosition() }

    package func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint {
        try await storage.createWriteCheckpoint(userKey: userKey, head: head)
    }

    package func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint {
        try await storage.recordCheckpointRequest(id, userKey: userKey, head: head)
    }

    package func visibleWriteCheckpoint(
        userKey: String,
        at checkpoint: StorageCheckpoint
    ) async throws -> WriteCheckpoint? {
        try await storage.visibleWriteCheckpoint(userKey: userKey, at: checkpoint)
    }

    package func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN? {
        try await storage.nextWriteCheckpoint(userKey: userKey, after: checkpoint)
    }

    package func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList {
        try await storage.buckets(of: stream, search: search, offset: offset, limit: limit)
    }

    package func sizes(after version: Int64?) async throws -> StorageSizes? { try await storage.sizes(after: version) }

    package func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
        try await storage.follow(look)
    }

    package func database() async throws -> DatabaseID? { try await storage.database() }

    package func seal() async throws { try await storage.seal() }

    package func compact() async throws -> CompactionResult { try await storage.compact() }

    package func size() async throws -> Int64 { try await storage.size() }

    package func close() throws { try storage.close() }
}

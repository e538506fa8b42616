package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Where operations, parameter entries, checkpoints and deployed sync configs are kept.
///
/// Sync sessions read from it, the ``Replicator`` writes to it through a ``BucketStorageWriter``. Every reading call
/// names the checkpoint it reads at and never returns anything above it. Calls are independent: none keeps a
/// transaction open between two calls, so a slow client holds nothing.
///
/// A stream that has been replaced is not read any more: such a call throws ``BucketStorageError`` with code
/// `unknownStream`, because the data may be half deleted.
///
/// A checkpoint that is not the newest can become unreadable by compaction; reading at it then throws an error with code
/// `checkpointInvalidated`, and the caller goes on with a later checkpoint.
///
/// All calls may be made concurrently. They throw ``BucketStorageError``, an error of the database, or
/// `CancellationError` when the calling task is cancelled.
package protocol BucketStorage: Sendable {
    // MARK: Streams

    /// The stream that clients are served from.
    ///
    /// By the time that a stream is named here, ``checkpoints(of:)`` gives its checkpoint: who took it for one that has ended
    /// would not look at it again. The same holds for every checkpoint that any process had published before the call.
    ///
    /// - Returns: `nil` before the first activation; sync requests then fail with `PSYNC_S2302`.
    func activeStream() async throws -> ActiveReplicationStream?

    /// Makes a sync config the one to replicate.
    ///
    /// When the text is byte for byte that of the newest processing or active stream, or of its next config, that stream is returned.
    /// Otherwise, if the mode says so and the plan has parts of the one that is served, the config takes its place in the active stream:
    /// at once if no table has to be read, or as its next config. Otherwise a new processing stream is created. An older processing
    /// stream is stopped, and another next config removed, in all cases. Clients are served from the active stream until the new one
    /// makes its first checkpoint, and its present config until the next one has everything.
    ///
    /// The stream gets the label, also when it is there already: another label alone changes nothing else.
    ///
    /// - Parameters:
    ///   - content: The YAML text.
    ///   - versionLabel: What operators call this version of the config; `nil` for nothing.
    ///   - plan: What the text compiles to.
    ///   - mode: What is kept.
    /// - Returns: The stream of this config.
    /// - Throws: An error of the database.
    func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) async throws -> ReplicationStream

    /// All streams that still have data, in the order of their ids; terminated ones are left out.
    func streams() async throws -> [ReplicationStream]

    /// How far a stream is, for operators.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when it is not stored here.
    func progress(of stream: ReplicationStreamID) async throws -> ReplicationStreamProgress

    /// Replaces a stream whose source history is lost.
    ///
    /// The stream becomes errored, if it was active, and keeps serving its last checkpoint; otherwise it is stopped. A
    /// processing stream with the same text starts from nothing, unless a newer config is being copied. Nothing happens to a
    /// stream that is not replicated any more: another process has replaced it.
    ///
    /// - Returns: The stream that takes over.
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none.
    func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream

    /// Goes on counting write checkpoints above all that a later state of the storage may have given: it was put back to an older one.
    ///
    /// A client that was shown a number shows nothing more while it is shown smaller ones. The new numbers are visible from the next
    /// checkpoint on that covers a position, those that are visible now until then.
    ///
    /// - Parameter head: The position of the source.
    /// - Throws: An error of the database.
    func skipWriteCheckpoints(head: SourcePosition) async throws

    /// Deletes all data of a stopped stream, and marks it as terminated.
    ///
    /// Others read and write other streams meanwhile: what takes long is done in small transactions. Can be repeated after an
    /// interruption. Does nothing for a stream in another state.
    ///
    /// - Throws: ``BucketStorageError`` with code `inUse` when another connection reads the data for long, or an error of the
    ///   database.
    func deleteData(of stream: ReplicationStreamID) async throws

    /// Writes to a stream for as long as `body` runs.
    ///
    /// At most one writer of a stream exists at a time, in all processes: the storage holds a lease for it, and cancels
    /// `body` when it loses that.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - body: Writes.
    /// - Returns: The result of `body`.
    /// - Throws: ``BucketStorageError`` with code `inUse` when the stream has a writer, `unknownStream` when it is not
    ///   stored here or not replicated any more, or what `body` throws.
    func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result

    // MARK: Checkpoints

    /// The checkpoints of a stream: the current one at once, then every later one.
    ///
    /// Only the latest value is kept, so a slow consumer skips the ones between. Neither op id nor source position ever
    /// go back, and at least one advances with every element. The sequence ends (`nil`) when another stream becomes
    /// active, immediately if that has already happened. Cancelling the task that waits for the next element makes it
    /// throw `CancellationError`. Any number of consumers may exist.
    ///
    /// - Parameter stream: What ``activeStream()`` returned.
    /// - Returns: A sequence for one consumer.
    func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence

    /// What differs between two checkpoints.
    ///
    /// - Parameters:
    ///   - earlier: The checkpoint that the caller has seen.
    ///   - later: A later checkpoint.
    /// - Returns: `.unknown` when the checkpoints are of different streams or `earlier` is too long ago.
    /// - Throws: An error of the database.
    func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) async throws -> CheckpointChanges

    // MARK: Reading at a checkpoint

    /// Reads the parameter index.
    ///
    /// - Parameters:
    ///   - lookups: What to look up; duplicates are read once.
    ///   - checkpoint: Entries above its op id are not seen.
    ///   - limit: The most rows of the whole call; equal rows of one lookup count once.
    /// - Returns: The rows of every lookup that has any, each once, in no particular order.
    /// - Throws: `BucketLimitError` (`PSYNC_S2305`) when there are more rows than `limit`; never a part of the rows.
    ///   ``BucketStorageError`` with code `checkpointInvalidated`.
    func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]]

    /// Checksum and count of buckets.
    ///
    /// - Parameters:
    ///   - buckets: Bucket names of the checkpoint's stream.
    ///   - checkpoint: Operations above its op id are not counted.
    /// - Returns: A value for every bucket; ``BucketChecksum/empty`` for one that was never written.
    /// - Throws: An error of the database, or ``BucketStorageError`` with code `checkpointInvalidated`.
    func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum]

    /// Operations of buckets, in chunks.
    ///
    /// Buckets are read one after the other in the order of their names, operations in the order of their ids. The
    /// caller sends the chunks, sets each position to the chunk's `nextAfter`, and calls again while the last chunk has
    /// `hasMore`. `hasMore` of the last chunk is also true when the limit was reached exactly and nothing follows; the
    /// next call then returns no chunk.
    ///
    /// - Parameters:
    ///   - positions: The buckets to read, each with the op id to continue after.
    ///   - checkpoint: Operations above its op id are not returned.
    ///   - limits: How much to read.
    /// - Returns: Chunks that are not empty; buckets without operations have none.
    /// - Throws: An error of the database, or ``BucketStorageError`` with code `checkpointInvalidated`.
    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk]

    // MARK: Write checkpoints

    /// The source position of the newest checkpoint that clients are served.
    ///
    /// A source that does not have it is not the one that was replicated.
    ///
    /// - Returns: `nil` before the first activation.
    /// - Throws: An error of the database.
    func publishedPosition() async throws -> SourcePosition?

    /// Records that a user's uploads are contained in the source at a position.
    ///
    /// Use ``WriteCheckpointIssuer`` to create one: it reads the position before and sends the marker after.
    ///
    /// - Parameters:
    ///   - userKey: `user_id/client_id`, or `user_id` for a client that sends no id.
    ///   - head: A source position that is not before the commit of the uploads. It is also covered by the checkpoints
    ///     of every later history of the source.
    /// - Returns: The previous number of this key plus one, 1 for the first.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream` before the first activation.
    func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint

    /// Records a number that the client has chosen, unless the recorded one is as large.
    ///
    /// A larger number is recorded with its position; the same number only has its time of request renewed, so that it
    /// keeps waiting for the position of its first request; a smaller one changes nothing.
    ///
    /// - Parameters:
    ///   - id: The number, at least 1.
    ///   - userKey: As in ``createWriteCheckpoint(userKey:head:)``, which shares the numbers.
    ///   - head: A source position that is not before what the client wants to see.
    /// - Returns: The recorded number: the larger one of `id` and what was recorded before.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream` before the first activation.
    func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint

    /// The newest write checkpoint of a user that a checkpoint covers.
    ///
    /// A number that was visible once stays so while a newer one is pending.
    ///
    /// - Parameters:
    ///   - userKey: As in ``createWriteCheckpoint(userKey:head:)``.
    ///   - checkpoint: Its source position is compared with the recorded ones.
    /// - Returns: `nil` when there is none.
    /// - Throws: An error of the database.
    func visibleWriteCheckpoint(userKey: String, at checkpoint: StorageCheckpoint) async throws -> WriteCheckpoint?

    /// The position at which another write checkpoint of a user becomes visible.
    ///
    /// - Parameters:
    ///   - userKey: As in ``createWriteCheckpoint(userKey:head:)``.
    ///   - checkpoint: What the user has seen.
    /// - Returns: A position after that of the checkpoint; `nil` when no write checkpoint waits for one in its history.
    /// - Throws: An error of the database.
    func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN?

    // MARK: Operators

    /// The buckets of a stream by their number of operations, the most first, then by name.
    ///
    /// Counts what is stored, which may be more than what is published.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - search: Only buckets with this text in their name; all when it is empty.
    ///   - offset: How many to leave out.
    ///   - limit: How many to return at most.
    /// - Returns: A part of the list.
    /// - Throws: An error of the database.
    func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList

    /// How much is stored, in all streams.
    ///
    /// - Returns: `nil` when nothing was written since a call that returned `version`.
    /// - Parameter version: That of the sizes that the caller has.
    /// - Throws: An error of the database.
    /// - Complexity: Reads everything that is not in segments, and a part of the rest.
    func sizes(after version: Int64?) async throws -> StorageSizes?

    // MARK: Compaction

    /// Puts what has been written since the last call into the form that is read fastest; clients see no difference.
    ///
    /// Works in small transactions while others read and write; what was done stays done when it is interrupted.
    ///
    /// - Throws: An error of the database, or `CancellationError`.
    func seal() async throws

    /// Takes away what no client needs: operations of rows that were written again later, superseded entries of parameter
    /// indexes, old checkpoint requests (docs/service.md "Compaction").
    ///
    /// Only what belongs to the checkpoint that is published when the call begins is touched. Works in small transactions
    /// while others read and write; what was done stays done when it is interrupted.
    ///
    /// - Returns: What was done.
    /// - Throws: An error of the database, or `CancellationError`.
    func compact() async throws -> CompactionResult

    // MARK: Processes

    /// Learns of checkpoints and streams that other processes make, until the task is cancelled.
    ///
    /// Without it, this process knows its own only. A storage of one process has nothing to learn.
    ///
    /// - Parameter look: Called every few seconds, and soon after other processes have changed something. What happened before the
    ///   call may be news: the first look counts as a change of streams.
    /// - Throws: `CancellationError`, or ``BucketStorageError`` with code `otherStorage`, after which this process has to end;
    ///   other trouble with the storage is logged, and passes.
    func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws

    /// The database that the storage is in, if a source may read the log of it.
    ///
    /// What is written to the storage is in that log, too: a checkpoint that says nothing new would make a source in the same database
    /// say something, for ever.
    func database() async throws -> DatabaseID?

    /// The bytes that the storage takes.
    func size() async throws -> Int64

    /// Looks after the files of the storage; `nil` for a storage without files on this machine.
    var fileBacked: (any FileBacked)? { get }

    /// Closes the storage. Calls that are running fail.
    func close() throws
}

extension BucketStorage {
    /// Makes a sync config the one to replicate, unless it is already.
    package func deploy(
        _ content: String,
        versionLabel: String? = nil,
        plan: SyncPlan
    ) async throws -> ReplicationStream {
        try await deploy(content, versionLabel: versionLabel, plan: plan, mode: .ifChanged)
    }

    /// Reads bucket data with the limits of the protocol.
    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketChunk] {
        try await bucketData(positions, at: checkpoint, limits: BucketDataLimits())
    }
}

import PowerSyncProtocol

/// The compaction of one stream, in steps; each is a transaction of its own, and what was done stays done.
///
/// Writers note which operation supersedes which (`superseded_operations`, `superseded_entries`), so nothing has to be
/// searched:
///
/// 1. Superseded parameter entries are deleted, the oldest first, then the tombstones that superseded them.
/// 2. A superseded `PUT` becomes a `MOVE`: op id and checksum stay, the row goes, `target_op` names the operation that
///    superseded it.
/// 3. What precedes the first `PUT` of a bucket leaves no row behind. It becomes one `CLEAR` (``BucketBeginning``) with the
///    op id of the last of these operations, the sum of their checksums, and the largest `target_op`.
///
/// Checksums of buckets do not change. A checkpoint before a `CLEAR`, or before a deleted entry, cannot be read any more:
/// `cleared_op` and `compacted_op` are raised in the same transaction.
package struct StreamCompaction: Sendable {
    /// The stream that is compacted.
    package let streamID: ReplicationStreamID
    /// Operations above this op id are left alone: no checkpoint contains them yet.
    package let through: Int64

    /// The most entries of one transaction, and the operations after which it ends.
    package static let batch = 1000

    /// What a transaction has done.
    package struct Step: Sendable {
        /// The last bucket that needs nothing any more; 0 before the first one.
        package var bucket: Int64
        /// Operations that have become a `MOVE`.
        package var moved = 0
        /// Operations that a `CLEAR` has replaced.
        package var cleared = 0
        /// Parameter entries that were deleted.
        package var deleted = 0
        /// Whether nothing is left.
        package var isLast = false

        /// Nothing has been done yet.
        ///
        /// - Parameter bucket: That of the step before.
        package init(after bucket: Int64 = 0) {
            self.bucket = bucket
        }
    }

    /// Begins to compact the stream that is replicated and served.
    ///
    /// - Returns: `nil` when there is none.
    package init?(_ streams: some StreamTables) throws {
        guard let served = try streams.served(), served.state == .active, let checkpoint = served.lastCheckpoint else {
            return nil
        }
        streamID = served.id
        through = checkpoint.rawValue
    }
}

extension CompactionResult {
    /// Repeats a step until nothing is left, and counts what it has done.
    ///
    /// - Parameter step: Gets the ``StreamCompaction/Step/bucket`` of the step before; returns `nil` when another process
    ///   compacts.
    /// - Throws: What `step` throws, or `CancellationError`.
    package mutating func count(_ step: (_ bucket: Int64) async throws -> StreamCompaction.Step?) async throws {
        var bucket: Int64 = 0
        while true {
            try Task.checkCancellation()
            guard let done = try await step(bucket) else { return }
            movedOperations += done.moved
            clearedOperations += done.cleared
            deletedEntries += done.deleted
            if done.isLast { return }
            bucket = done.bucket
        }
    }
}

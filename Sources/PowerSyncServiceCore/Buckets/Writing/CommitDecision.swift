import PowerSyncProtocol

/// Whether a commit makes a checkpoint, and what it changes (docs/service.md "Checkpoints").
package struct CommitDecision: Sendable {
    /// What becomes of the commit.
    package let result: CommitResult
    /// Whether the stream replaces the one that is served, if ``StreamSuccession`` lets it.
    package let activates: Bool
    /// Whether the next config takes the place of the stream's own with this checkpoint.
    package let takesNextConfig: Bool

    /// Decides.
    ///
    /// - Parameters:
    ///   - record: The stream, read in the transaction of the commit. Its `keepaliveOp` is the highest op id that is
    ///     stored and not covered by a checkpoint.
    ///   - lsn: The position of the commit.
    ///   - createsEmptyCheckpoints: Whether a commit without new operations counts.
    /// - Throws: ``BucketStorageError`` when the stream has been stopped.
    package init(record: StreamRecord, lsn: LSN, createsEmptyCheckpoints: Bool) throws {
        guard record.state.isReplicated else { throw BucketStorageError.replaced(record.id) }
        let isAllowed =
            record.isSnapshotDone && record.lastCheckpointLSN.map { $0 <= lsn } ?? true
            && record.noCheckpointBefore.map { $0 <= lsn } ?? true
        guard isAllowed else {
            result = .blocked
            activates = false
            takesNextConfig = false
            return
        }
        let opID = max(record.lastCheckpoint ?? .zero, record.keepaliveOp ?? .zero)
        takesNextConfig = record.next?.isFilled == true
        let isNews =
            createsEmptyCheckpoints || opID != record.lastCheckpoint || record.keepaliveOp != nil || takesNextConfig
        let checkpoint = StorageCheckpoint(
            streamID: record.id,
            configNumber: takesNextConfig ? record.lastConfigNumber : record.configNumber,
            opID: opID,
            lsn: lsn
        )
        result = isNews ? .created(checkpoint) : .unchanged
        activates = isNews && record.state == .processing
    }
}

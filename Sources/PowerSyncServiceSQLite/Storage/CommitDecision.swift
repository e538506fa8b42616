import GRDB
import PowerSyncProtocol
import PowerSyncServiceCore

/// Whether a commit makes a checkpoint, and what it changes (docs/service.md "Checkpoints").
struct CommitDecision: Sendable {
    /// What becomes of the commit.
    let result: CommitResult

    private let streamID: ReplicationStreamID
    /// Whether the stream replaces the one that is served.
    private let activates: Bool

    /// Decides.
    ///
    /// - Parameters:
    ///   - record: The stream, read in the transaction of the commit. Its `keepaliveOp` is the highest op id that is
    ///     stored and not covered by a checkpoint.
    ///   - lsn: The position of the commit.
    ///   - createsEmptyCheckpoints: Whether a commit without new operations counts.
    /// - Throws: ``BucketStorageError`` when the stream has been stopped.
    init(record: StreamRecord, lsn: LSN, createsEmptyCheckpoints: Bool) throws {
        guard record.state.isReplicated else {
            throw BucketStorageError(
                .unknownStream,
                "Replication stream \(record.id) is \(record.state.rawValue): it has been replaced."
            )
        }
        streamID = record.id
        let isAllowed =
            record.isSnapshotDone && record.lastCheckpointLSN.map { $0 <= lsn } ?? true
            && record.noCheckpointBefore.map { $0 <= lsn } ?? true
        guard isAllowed else {
            result = .blocked
            activates = false
            return
        }
        let opID = max(record.lastCheckpoint ?? .zero, record.keepaliveOp ?? .zero)
        let isNews = createsEmptyCheckpoints || opID != record.lastCheckpoint || record.keepaliveOp != nil
        let checkpoint = StorageCheckpoint(streamID: record.id, opID: opID, lsn: lsn)
        result = isNews ? .created(checkpoint) : .unchanged
        activates = isNews && record.state == .processing
    }

    /// Stores what was decided.
    func store(at timestamp: String, _ db: Database) throws {
        if case .created(let checkpoint) = result {
            try db.execute(
                sql: """
                    UPDATE sync_rules SET last_checkpoint = ?, last_checkpoint_lsn = ?, last_checkpoint_ts = ?,
                        keepalive_op = NULL, snapshot_lsn = NULL
                    WHERE id = ?
                    """,
                arguments: [checkpoint.opID.rawValue, checkpoint.lsn.rawValue, timestamp, streamID.rawValue]
            )
        }
        if activates {
            for served in try StreamRecord.all(in: [.active, .errored], db) {
                try StreamRecord.setState(.stop, of: served.id, db)
            }
            try StreamRecord.setState(.active, of: streamID, db)
        }
    }
}

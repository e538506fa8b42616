import GRDB
import PowerSyncProtocol

/// Whether a commit makes a checkpoint, and what it changes (`service.md` 13.3, 13.4).
struct CommitDecision: Sendable {
    /// What becomes of the commit.
    let result: CommitResult
    /// Whether clients are served from the stream after the commit.
    let isServed: Bool

    private let streamID: ReplicationStreamID
    /// Whether the stream replaces the one that is served.
    private let activates: Bool
    /// Set when the commit is blocked: the highest stored op id that waits for a checkpoint.
    private let keepaliveOp: OpID?

    /// Decides.
    ///
    /// - Parameters:
    ///   - record: The stream, read in the transaction of the commit.
    ///   - lsn: The position of the commit.
    ///   - persistedOp: The highest op id that the writer has stored.
    ///   - createsEmptyCheckpoints: Whether a commit without new operations counts.
    /// - Throws: ``BucketStorageError`` when the stream has been stopped.
    init(record: StreamRecord, lsn: LSN, persistedOp: OpID?, createsEmptyCheckpoints: Bool) throws {
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
            isServed = record.state == .active
            activates = false
            keepaliveOp = max(record.keepaliveOp ?? .zero, persistedOp ?? .zero)
            return
        }
        keepaliveOp = nil
        let opID = [record.lastCheckpoint, persistedOp, record.keepaliveOp].compactMap { $0 }.max() ?? .zero
        let isNews = createsEmptyCheckpoints || opID != record.lastCheckpoint || record.keepaliveOp != nil
        let checkpoint = StorageCheckpoint(streamID: record.id, opID: opID, lsn: lsn)
        result = isNews ? .created(checkpoint) : .unchanged
        activates = isNews && record.state == .processing
        isServed = isNews || record.state == .active
    }

    /// Stores what was decided.
    func store(at timestamp: String, _ db: Database) throws {
        switch result {
        case .unchanged:
            break
        case .blocked:
            try db.execute(
                sql: "UPDATE sync_rules SET keepalive_op = ? WHERE id = ?",
                arguments: [keepaliveOp?.rawValue, streamID.rawValue]
            )
        case .created(let checkpoint):
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

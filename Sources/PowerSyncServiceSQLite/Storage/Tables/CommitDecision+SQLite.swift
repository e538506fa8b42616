import GRDB
import PowerSyncProtocol
import PowerSyncServiceCore

extension CommitDecision {
    /// Stores what was decided.
    ///
    /// - Returns: Whether clients may be served from the stream; if not, it is stopped.
    func store(of streamID: ReplicationStreamID, at time: Double, _ db: Database) throws -> Bool {
        if activates, try !StreamSuccession.change(db, { $0.activate(streamID) }) { return false }
        if case .created(let checkpoint) = result {
            try db.execute(
                sql: """
                    UPDATE replication_streams SET last_checkpoint = ?, last_checkpoint_lsn = ?, last_checkpoint_at = ?,
                        keepalive_op = NULL, snapshot_lsn = NULL
                    WHERE id = ?
                    """,
                arguments: [checkpoint.opID.rawValue, checkpoint.lsn.rawValue, time, streamID.rawValue]
            )
        }
        return true
    }
}

import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// What a read transaction has to know of the stream it reads.
struct StreamView {
    /// Whether compaction has passed the checkpoint that is read at.
    var isCompacted: Bool

    private let checkpoint: StorageCheckpoint

    /// Looks at the stream of a checkpoint, first thing in a read transaction.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when the stream has been replaced: its data may be half
    ///   deleted.
    init(_ db: Database, at checkpoint: StorageCheckpoint) throws {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT compacted_op FROM replication_streams WHERE id = ? AND state NOT IN ('STOP', 'TERMINATED')
                """
        )
        statement.bind(checkpoint.streamID.rawValue, at: 1)
        var compactedOp: Int64?
        while try statement.step() { compactedOp = statement.integer(at: 0) }
        guard let compactedOp else {
            throw BucketStorageError.replaced(checkpoint.streamID)
        }
        isCompacted = checkpoint.opID.rawValue < compactedOp
        self.checkpoint = checkpoint
    }

    /// Checks that buckets can still be read at the checkpoint.
    ///
    /// - Throws: ``BucketStorageError`` with code `checkpointInvalidated`.
    func check(_ buckets: some Sequence<BucketName>, _ db: Database) throws {
        guard isCompacted else { return }
        let statement = try PreparedStatement(
            db,
            sql: "SELECT 1 FROM buckets WHERE stream = ? AND name = ? AND cleared_op > ?"
        )
        for bucket in buckets {
            statement.bind(checkpoint.streamID.rawValue, at: 1)
            statement.bind(bucket.rawValue, at: 2)
            statement.bind(checkpoint.opID.rawValue, at: 3)
            var isCleared = false
            while try statement.step() { isCleared = true }
            if isCleared { throw BucketStorageError.compacted(checkpoint) }
        }
    }

    /// Checks that parameter indexes can still be read at the checkpoint.
    ///
    /// - Throws: ``BucketStorageError`` with code `checkpointInvalidated`.
    func checkParameters() throws {
        if isCompacted { throw BucketStorageError.compacted(checkpoint) }
    }
}

import PowerSyncProtocol
import PowerSyncServiceCore

/// The state of a stream after a read of its data.
struct PostgresStreamView {
    /// Whether compaction has passed the checkpoint that is read at.
    let isCompacted: Bool
    private let checkpoint: StorageCheckpoint

    /// The statement that looks at the stream of a checkpoint, to be run after it was read.
    ///
    /// - Parameters:
    ///   - checkpoint: The checkpoint.
    ///   - db: The statements.
    ///   - found: Gets what ``init(compacted:at:)`` takes; not called for a stream that has been replaced.
    /// - Returns: The statement.
    static func query(
        at checkpoint: StorageCheckpoint,
        _ db: PostgresStatements,
        _ found: @escaping (Int64) -> Void
    ) -> PostgresStatements.Statement {
        PostgresStatements.Statement(
            sql: """
                SELECT compacted_op FROM \(db.schema).replication_streams
                WHERE id = $1 AND state NOT IN ('STOP', 'TERMINATED') AND \(db.isInStorage)
                """,
            arguments: [.integer(checkpoint.streamID.rawValue)]
        ) { found(try $0.integer(0)) }
    }

    /// What was seen of the stream of a checkpoint.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when the stream has been replaced: its data may be deleted. So it is
    ///   in another storage.
    init(compacted: Int64?, at checkpoint: StorageCheckpoint) throws {
        guard let compacted else {
            throw BucketStorageError.replaced(checkpoint.streamID)
        }
        isCompacted = checkpoint.opID.rawValue < compacted
        self.checkpoint = checkpoint
    }

    /// Checks that buckets could still be read at the checkpoint.
    ///
    /// - Throws: ``BucketStorageError`` with code `checkpointInvalidated`.
    func check(_ buckets: some Sequence<BucketName>, _ db: PostgresStatements) throws {
        guard isCompacted else { return }
        let cleared = try db.first(
            """
            SELECT 1 FROM unnest($2::bytea[]) AS n (name)
                JOIN \(PostgresStorageSchema.named("\(db.schema).buckets", "n.name", as: "b"))
            WHERE b.cleared_op > $3 LIMIT 1
            """,
            [
                .integer(checkpoint.streamID.rawValue), .names(buckets.map(\.rawValue)),
                .integer(checkpoint.opID.rawValue),
            ]
        ) { _ in true }
        if cleared != nil { throw BucketStorageError.compacted(checkpoint) }
    }

    /// Checks that parameter indexes could still be read at the checkpoint.
    ///
    /// - Throws: ``BucketStorageError`` with code `checkpointInvalidated`.
    func checkParameters() throws {
        if isCompacted { throw BucketStorageError.compacted(checkpoint) }
    }
}

import PowerSyncProtocol
import PowerSyncServiceCore

/// What a process has seen of the writers of a stream, by which it notices that the storage was set back and has been written to since
/// (docs/postgres-storage.md "Several processes").
///
/// A new writer goes on from what was published last. In a storage that was set back, one goes on from less, or the one
/// that was seen is not there.
struct StorageLineage: Hashable, Sendable {
    private let stream: ReplicationStreamID
    private let epoch: Int64
    private let id: String
    /// The op id of the checkpoint that was published then.
    private let opID: OpID

    /// Reads the writer of the served stream.
    ///
    /// - Returns: `nil` when it has never had one.
    init?(_ checkpoint: StorageCheckpoint, _ db: PostgresStatements) throws {
        let newest = try db.first(
            "SELECT epoch, id::text FROM \(db.schema).writers WHERE stream = $1 ORDER BY epoch DESC LIMIT 1",
            [.integer(checkpoint.streamID.rawValue)]
        ) { try (epoch: $0.integer(0), id: $0.text(1)) }
        guard let newest else { return nil }
        stream = checkpoint.streamID
        epoch = newest.epoch
        id = newest.id
        opID = checkpoint.opID
    }

    /// Whether the storage has what was seen.
    ///
    /// - Parameters:
    ///   - checkpoint: What is published now. Of another stream, nothing is known.
    ///   - db: Runs the statement.
    /// - Returns: `false` when it was set back.
    /// - Throws: ``PostgresError``.
    func continues(to checkpoint: StorageCheckpoint, _ db: PostgresStatements) throws -> Bool {
        guard checkpoint.streamID == stream else { return true }
        let isContinued = try db.first(
            """
            SELECT coalesce(bool_or(epoch = $2 AND id::text = $3), false) AND coalesce(bool_and(epoch = $2 OR began_op >= $4), false)
            FROM \(db.schema).writers WHERE stream = $1 AND epoch >= $2
            """,
            [.integer(stream.rawValue), .integer(epoch), .text(id), .integer(opID.rawValue)]
        ) { try $0.boolean(0) }
        return isContinued == true
    }

    /// Whether this is later than what another look has seen.
    func follows(_ other: StorageLineage) -> Bool {
        (stream, epoch, opID) > (other.stream, other.epoch, other.opID)
    }
}

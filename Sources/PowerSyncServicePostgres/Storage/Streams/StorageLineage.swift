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

    /// Reads the writer of the served stream, and looks whether the storage has what was seen before.
    ///
    /// - Parameters:
    ///   - checkpoint: What is published now.
    ///   - known: What was seen; of another stream, nothing is known.
    ///   - db: Runs the statements, in one round trip.
    /// - Returns: Whether the storage was not set back, and what is seen now; `nil` when the stream has never had a writer.
    /// - Throws: ``PostgresError``.
    static func look(
        at checkpoint: StorageCheckpoint,
        after known: StorageLineage?,
        _ db: PostgresStatements
    ) throws -> (continues: Bool, seen: StorageLineage?) {
        var seen: StorageLineage?
        let stream = checkpoint.streamID
        let newest = PostgresStatements.Statement(
            sql: "SELECT epoch, id::text FROM \(db.schema).writers WHERE stream = $1 ORDER BY epoch DESC LIMIT 1",
            arguments: [.integer(stream.rawValue)]
        ) {
            seen = StorageLineage(stream: stream, epoch: try $0.integer(0), id: try $0.text(1), opID: checkpoint.opID)
        }
        guard let known, known.stream == stream else {
            try db.run(together: [newest])
            return (true, seen)
        }
        var continues = false
        let check = PostgresStatements.Statement(
            sql: """
                SELECT coalesce(bool_or(epoch = $2 AND id::text = $3), false)
                    AND coalesce(bool_and(epoch = $2 OR began_op >= $4), false)
                FROM \(db.schema).writers WHERE stream = $1 AND epoch >= $2
                """,
            arguments: [
                .integer(stream.rawValue), .integer(known.epoch), .text(known.id), .integer(known.opID.rawValue),
            ]
        ) { continues = try $0.boolean(0) }
        try db.run(together: [check, newest])
        return (continues, seen)
    }

    /// Whether this is later than what another look has seen.
    func follows(_ other: StorageLineage) -> Bool {
        (stream, epoch, opID) > (other.stream, other.epoch, other.opID)
    }
}

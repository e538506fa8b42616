import PowerSyncProtocol
import PowerSyncServiceCore

/// The rows of `streams`.
extension StreamRecord {
    /// Reads a record.
    ///
    /// - Parameters:
    ///   - id: The number of the stream.
    ///   - locked: Whether nobody else may change it before the end of the transaction.
    ///   - db: Runs the statement.
    /// - Returns: The record.
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none.
    static func find(
        _ id: ReplicationStreamID,
        locked: Bool = false,
        _ db: PostgresStatements
    ) throws -> StreamRecord {
        try findWithEpoch(id, locked: locked, db).record
    }

    /// Reads a record, and the `writer_epoch` of the stream.
    ///
    /// - Throws: As ``find(_:locked:_:)``.
    static func findWithEpoch(
        _ id: ReplicationStreamID,
        locked: Bool,
        _ db: PostgresStatements
    ) throws -> (record: StreamRecord, epoch: Int64) {
        let found = try db.first(
            "\(query(db)) WHERE id = $1\(locked ? " FOR NO KEY UPDATE" : "")",
            [.integer(id.rawValue)]
        ) { try (record: StreamRecord($0), epoch: $0.integer(12)) }
        guard let found else { throw unknown(id) }
        return found
    }

    fileprivate static func unknown(_ id: ReplicationStreamID) -> BucketStorageError {
        BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(id).")
    }

    /// The stream that clients are served from.
    static func served(_ db: PostgresStatements) throws -> StreamRecord? {
        try db.first("\(query(db)) WHERE state IN ('ACTIVE', 'ERRORED') ORDER BY id DESC LIMIT 1") {
            try StreamRecord($0)
        }
    }

    /// The states of streams that have data, if only to be deleted.
    static let statesWithData: [ReplicationStream.State] = [.processing, .active, .errored, .stop]

    /// All records in a set of states, by id.
    static func all(in states: [ReplicationStream.State], _ db: PostgresStatements) throws -> [StreamRecord] {
        let names = states.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try db.rows("\(query(db)) WHERE state IN (\(names)) ORDER BY id") { try StreamRecord($0) }
    }

    private static func query(_ db: PostgresStatements) -> String {
        """
        SELECT id, state, slot_name, snapshot_done, snapshot_lsn, last_checkpoint, last_checkpoint_lsn,
            no_checkpoint_before, keepalive_op, history_id, version_label, hash_key, writer_epoch
        FROM \(db.schema).replication_streams
        """
    }

    private init(_ row: BinaryRow) throws {
        let id = try ReplicationStreamID(rawValue: row.integer(0))
        guard let state = row.optionalText(1).flatMap({ ReplicationStream.State(rawValue: $0) }) else {
            throw BucketStorageError(
                .corrupted,
                "Replication stream \(id) has the unknown state \(row.optionalText(1) ?? "NULL")."
            )
        }
        self.init(id: id, state: state, slotName: try row.text(2), hashKey: try row.bytes(11))
        isSnapshotDone = try row.boolean(3)
        snapshotLSN = row.optionalText(4).map { LSN($0) }
        lastCheckpoint = try row.optionalInteger(5).map { OpID($0) }
        lastCheckpointLSN = row.optionalText(6).map { LSN($0) }
        noCheckpointBefore = row.optionalText(7).map { LSN($0) }
        keepaliveOp = try row.optionalInteger(8).map { OpID($0) }
        historyID = try row.integer(9)
        versionLabel = row.optionalText(10)
    }

    /// Changes the state of a stream.
    static func setState(
        _ state: ReplicationStream.State,
        of id: ReplicationStreamID,
        _ db: PostgresStatements
    ) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET state = $1 WHERE id = $2",
            [.text(state.rawValue), .integer(id.rawValue)]
        )
    }

    /// Gives the stream another label.
    ///
    /// - Returns: The record with it.
    func relabelled(_ label: String?, _ db: PostgresStatements) throws -> StreamRecord {
        guard label != versionLabel else { return self }
        try db.run(
            "UPDATE \(db.schema).replication_streams SET version_label = $1 WHERE id = $2",
            [.bytes(label.map { Array($0.utf8) }), .integer(id.rawValue)]
        )
        var record = self
        record.versionLabel = label
        return record
    }

    /// Inserts a processing stream, with tables for its data.
    static func insert(
        _ config: StreamConfig.Stored,
        versionLabel: String?,
        slotName: String,
        _ db: PostgresStatements
    ) throws -> StreamRecord {
        let id = try db.first(
            """
            INSERT INTO \(db.schema).replication_streams (state, slot_name, content, sync_plan, version_label, hash_key)
            VALUES ($1, $2, $3, $4, $5, $6) RETURNING id
            """,
            [
                .text(ReplicationStream.State.processing.rawValue), .text(slotName),
                .bytes(Array(config.content.utf8)), .text(config.encodedPlan),
                .bytes(versionLabel.map { Array($0.utf8) }), .bytes(makeHashKey()),
            ]
        ) { try ReplicationStreamID(rawValue: $0.integer(0)) }
        let record = try find(id ?? ReplicationStreamID(rawValue: 0), db)
        try PostgresStorageSchema.createPartitions(of: record.id, db)
        return record
    }
}

extension StreamConfig.Stored {
    /// Reads the config of a stream.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none.
    static func find(_ id: ReplicationStreamID, _ db: PostgresStatements) throws -> StreamConfig.Stored {
        let found = try db.first(
            "SELECT content, sync_plan FROM \(db.schema).replication_streams WHERE id = $1",
            [.integer(id.rawValue)]
        ) {
            try StreamConfig.Stored(content: $0.text(0), encodedPlan: $0.text(1))
        }
        guard let found else { throw StreamRecord.unknown(id) }
        return found
    }
}

extension StreamSuccession {
    /// Applies a rule to the streams, and stores what becomes of them.
    ///
    /// The transaction has the lock of ``PostgresStorageSchema/lockStreams(_:)``, or it would not see what another one does.
    static func change<Result>(_ db: PostgresStatements, _ rule: (inout StreamSuccession) -> Result) throws -> Result {
        let streams = try StreamRecord.all(in: StreamRecord.statesWithData, db)
        var succession = StreamSuccession(streams.map { ($0.id, $0.state) })
        let result = rule(&succession)
        for (id, state) in succession.changes { try StreamRecord.setState(state, of: id, db) }
        return result
    }
}

/// The `source_histories`.
extension SourceHistory {
    /// The number of this history, above those of all earlier ones.
    ///
    /// When another history was seen since, this one has come again from a backup: it counts as a new one. The caller has the
    /// lock of ``PostgresBucketStorage/lockHistories(_:)``, or two processes could give it two numbers.
    func number(_ db: PostgresStatements) throws -> Int64 {
        let newest = try db.first("SELECT id, history FROM \(db.schema).source_histories ORDER BY id DESC LIMIT 1") {
            (id: try $0.integer(0), history: $0.optionalText(1))
        }
        if let newest, newest.history == rawValue { return newest.id }
        return try db.one(
            "INSERT INTO \(db.schema).source_histories (history) VALUES ($1) RETURNING id",
            [.text(rawValue)]
        ) {
            try $0.integer(0)
        }
    }

    /// The history with a number; `nil` for 0.
    static func find(_ number: Int64, _ db: PostgresStatements) throws -> SourceHistory? {
        try db.first("SELECT history FROM \(db.schema).source_histories WHERE id = $1", [.integer(number)]) {
            SourceHistory(rawValue: try $0.text(0))
        }
    }
}

extension PostgresBucketStorage {
    /// Lets nobody else give numbers to histories before the end of the transaction.
    func lockHistories(_ db: PostgresStatements) throws {
        try db.run("SELECT pg_advisory_xact_lock(\(schema.lockKey("histories")))")
    }
}

import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncServiceCore

/// The rows of `replication_streams`.
extension StreamRecord {
    /// Reads a record.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none.
    static func find(_ id: ReplicationStreamID, _ db: Database) throws -> StreamRecord {
        guard let record = try fetch(db, sql: "WHERE id = ?", arguments: [id.rawValue]).first else {
            throw BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(id).")
        }
        return record
    }

    /// The stream that clients are served from.
    static func served(_ db: Database) throws -> StreamRecord? {
        try fetch(db, sql: "WHERE state IN ('ACTIVE', 'ERRORED') ORDER BY id DESC").first
    }

    /// All records in a set of states, by id.
    static func all(in states: [ReplicationStream.State], _ db: Database) throws -> [StreamRecord] {
        try fetch(db, sql: "ORDER BY id").filter { states.contains($0.state) }
    }

    private static func fetch(
        _ db: Database,
        sql: String,
        arguments: StatementArguments = []
    ) throws -> [StreamRecord] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, state, slot_name, snapshot_done, snapshot_lsn, last_checkpoint, last_checkpoint_lsn,
                    no_checkpoint_before, keepalive_op, history_id, version_label, hash_key
                FROM replication_streams \(sql)
                """,
            arguments: arguments
        )
        return try rows.map { try StreamRecord($0) }
    }

    private init(_ row: Row) throws {
        let id = ReplicationStreamID(rawValue: row["id"])
        guard let state = ReplicationStream.State(rawValue: row["state"]) else {
            let found: String = row["state"]
            throw BucketStorageError(.corrupted, "Replication stream \(id) has the unknown state \(found).")
        }
        self.init(id: id, state: state, slotName: row["slot_name"], hashKey: Array(row["hash_key"] as Data))
        isSnapshotDone = row["snapshot_done"]
        snapshotLSN = (row["snapshot_lsn"] as String?).map { LSN($0) }
        lastCheckpoint = (row["last_checkpoint"] as Int64?).map { OpID($0) }
        lastCheckpointLSN = (row["last_checkpoint_lsn"] as String?).map { LSN($0) }
        noCheckpointBefore = (row["no_checkpoint_before"] as String?).map { LSN($0) }
        keepaliveOp = (row["keepalive_op"] as Int64?).map { OpID($0) }
        historyID = row["history_id"]
        versionLabel = row["version_label"]
    }

    /// Changes the state of a stream.
    static func setState(_ state: ReplicationStream.State, of id: ReplicationStreamID, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE replication_streams SET state = ? WHERE id = ?",
            arguments: [state.rawValue, id.rawValue]
        )
    }

    /// Gives the stream another label.
    ///
    /// - Returns: The record with it.
    func relabelled(_ label: String?, _ db: Database) throws -> StreamRecord {
        guard label != versionLabel else { return self }
        try db.execute(
            sql: "UPDATE replication_streams SET version_label = ? WHERE id = ?",
            arguments: [label, id.rawValue]
        )
        var record = self
        record.versionLabel = label
        return record
    }

    /// Inserts a processing stream.
    static func insert(
        _ config: StreamConfig.Stored,
        versionLabel: String?,
        slotName: String,
        _ db: Database
    ) throws -> StreamRecord {
        try db.execute(
            sql: """
                INSERT INTO replication_streams (state, slot_name, content, sync_plan, version_label, hash_key)
                VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                ReplicationStream.State.processing.rawValue, slotName, config.content, config.encodedPlan,
                versionLabel, Data(makeHashKey()),
            ]
        )
        return try find(ReplicationStreamID(rawValue: db.lastInsertedRowID), db)
    }
}

extension StreamConfig.Stored {
    /// Reads the config of a stream.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none.
    static func find(_ id: ReplicationStreamID, _ db: Database) throws -> StreamConfig.Stored {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT content, sync_plan FROM replication_streams WHERE id = ?",
            arguments: [id.rawValue]
        )
        guard let row else {
            throw BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(id).")
        }
        return StreamConfig.Stored(content: row["content"], encodedPlan: row["sync_plan"])
    }
}

extension StreamSuccession {
    /// Applies a rule to the streams, and stores what becomes of them.
    static func change<Result>(_ db: Database, _ rule: (inout StreamSuccession) -> Result) throws -> Result {
        let streams = try StreamRecord.all(in: [.processing, .active, .errored, .stop], db)
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
    /// When another history was seen since, this one has come again from a backup: it counts as a new one.
    func number(_ db: Database) throws -> Int64 {
        let newest = try Row.fetchOne(db, sql: "SELECT id, history FROM source_histories ORDER BY id DESC LIMIT 1")
        if let newest, newest["history"] == rawValue { return newest["id"] }
        try db.execute(sql: "INSERT INTO source_histories (history) VALUES (?)", arguments: [rawValue])
        return db.lastInsertedRowID
    }

    /// The history with a number; `nil` for 0.
    static func find(_ number: Int64, _ db: Database) throws -> SourceHistory? {
        try String.fetchOne(db, sql: "SELECT history FROM source_histories WHERE id = ?", arguments: [number])
            .map { SourceHistory(rawValue: $0) }
    }
}

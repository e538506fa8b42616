import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The rows of `replication_streams`, `source_histories` and `source_tables`.
package struct SQLiteStreamTables: StreamTables {
    private let db: Database

    /// Reads and writes in the current transaction.
    init(_ db: Database) {
        self.db = db
    }

    // MARK: Streams

    package func record(of stream: ReplicationStreamID) throws -> StreamRecord {
        guard let record = try records("WHERE id = ?", [stream.rawValue]).first else { throw unknown(stream) }
        return record
    }

    package func records(in states: Set<ReplicationStream.State>) throws -> [StreamRecord] {
        let names = states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
        return try records("WHERE state IN (\(names)) ORDER BY id")
    }

    private func unknown(_ stream: ReplicationStreamID) -> BucketStorageError {
        BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(stream).")
    }

    private func records(_ condition: String, _ arguments: StatementArguments = []) throws -> [StreamRecord] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, state, source_handle, snapshot_done, snapshot_lsn, last_checkpoint, last_checkpoint_lsn,
                    last_checkpoint_at, no_checkpoint_before, keepalive_op, history_id, version_label, hash_key,
                    config_number, last_config_number, has_next, next_version_label, next_filled_tables, next_is_filled
                FROM replication_streams \(condition)
                """
        )
        return try Row.fetchAll(statement, arguments: arguments).map { try record($0) }
    }

    private func record(_ row: Row) throws -> StreamRecord {
        let id = ReplicationStreamID(rawValue: row["id"])
        guard let state = ReplicationStream.State(rawValue: row["state"]) else {
            let found: String = row["state"]
            throw BucketStorageError(.corrupted, "Replication stream \(id) has the unknown state \(found).")
        }
        var record = StreamRecord(
            id: id,
            state: state,
            sourceHandle: row["source_handle"],
            hashKey: Array(row["hash_key"] as Data)
        )
        record.isSnapshotDone = row["snapshot_done"]
        record.snapshotLSN = (row["snapshot_lsn"] as String?).map { LSN($0) }
        record.lastCheckpoint = (row["last_checkpoint"] as Int64?).map { OpID($0) }
        record.lastCheckpointLSN = (row["last_checkpoint_lsn"] as String?).map { LSN($0) }
        record.lastCheckpointAt = (row["last_checkpoint_at"] as Double?).map { Date(timeIntervalSince1970: $0) }
        record.noCheckpointBefore = (row["no_checkpoint_before"] as String?).map { LSN($0) }
        record.keepaliveOp = (row["keepalive_op"] as Int64?).map { OpID($0) }
        record.historyID = row["history_id"]
        record.versionLabel = row["version_label"]
        record.configNumber = row["config_number"]
        record.lastConfigNumber = row["last_config_number"]
        if row["has_next"] {
            record.next = StreamRecord.NextConfig(
                versionLabel: row["next_version_label"],
                encodedTables: row["next_filled_tables"],
                isFilled: row["next_is_filled"]
            )
        }
        return record
    }

    package func config(of stream: ReplicationStreamID) throws -> StreamConfig.Stored {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT content, sync_plan FROM replication_streams WHERE id = ?",
            arguments: [stream.rawValue]
        )
        guard let row else { throw unknown(stream) }
        return StreamConfig.Stored(content: row["content"], encodedPlan: row["sync_plan"])
    }

    package func nextConfig(of stream: ReplicationStreamID) throws -> StreamConfig.Stored {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT next_content, next_sync_plan FROM replication_streams WHERE id = ? AND has_next",
            arguments: [stream.rawValue]
        )
        guard let row else { throw unknown(stream) }
        return StreamConfig.Stored(content: row["next_content"], encodedPlan: row["next_sync_plan"])
    }

    package func setNextConfig(_ next: NewNextConfig?, of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: """
                UPDATE replication_streams SET last_config_number = coalesce(?, last_config_number), has_next = ?,
                    next_version_label = ?, next_filled_tables = '', next_is_filled = 0, next_content = ?, next_sync_plan = ?
                WHERE id = ?
                """,
            arguments: [
                next?.number, next != nil, next?.versionLabel, next?.config.content, next?.config.encodedPlan,
                stream.rawValue,
            ]
        )
    }

    package func setNextVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: "UPDATE replication_streams SET next_version_label = ? WHERE id = ? AND has_next",
            arguments: [label, stream.rawValue]
        )
    }

    package func takeNextConfig(of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: """
                UPDATE replication_streams SET config_number = last_config_number, version_label = next_version_label,
                    content = next_content, sync_plan = next_sync_plan
                WHERE id = ? AND has_next
                """,
            arguments: [stream.rawValue]
        )
        try setNextConfig(nil, of: stream)
    }

    package func insert(_ stream: NewStream) throws -> ReplicationStreamID {
        try db.execute(
            sql: """
                INSERT INTO replication_streams
                    (state, source_handle, content, sync_plan, version_label, hash_key, config_number, last_config_number)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                ReplicationStream.State.processing.rawValue, stream.sourceHandle, stream.config.content,
                stream.config.encodedPlan, stream.versionLabel, Data(stream.hashKey), stream.configNumber,
                stream.configNumber,
            ]
        )
        return ReplicationStreamID(rawValue: db.lastInsertedRowID)
    }

    package func setState(_ state: ReplicationStream.State, of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: "UPDATE replication_streams SET state = ? WHERE id = ?",
            arguments: [state.rawValue, stream.rawValue]
        )
    }

    package func setVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: "UPDATE replication_streams SET version_label = ? WHERE id = ?",
            arguments: [label, stream.rawValue]
        )
    }

    /// Stores what a writer changes in a record.
    func update(_ record: StreamRecord) throws {
        try db.cachedStatement(
            sql: """
                UPDATE replication_streams SET snapshot_done = ?, snapshot_lsn = ?, last_checkpoint = ?,
                    last_checkpoint_lsn = ?, last_checkpoint_at = ?, no_checkpoint_before = ?, keepalive_op = ?, history_id = ?,
                    next_filled_tables = ?, next_is_filled = ?
                WHERE id = ?
                """
        ).execute(
            arguments: [
                record.isSnapshotDone, record.snapshotLSN?.rawValue, record.lastCheckpoint?.rawValue,
                record.lastCheckpointLSN?.rawValue, record.lastCheckpointAt?.timeIntervalSince1970,
                record.noCheckpointBefore?.rawValue, record.keepaliveOp?.rawValue, record.historyID,
                record.next?.encodedTables ?? "", record.next?.isFilled ?? false, record.id.rawValue,
            ]
        )
    }

    // MARK: Histories

    package func history(_ number: Int64) throws -> SourceHistory? {
        try String.fetchOne(db, sql: "SELECT history FROM source_histories WHERE id = ?", arguments: [number])
            .map { SourceHistory(rawValue: $0) }
    }

    package func number(of history: SourceHistory) throws -> Int64 {
        let newest = try Row.fetchOne(db, sql: "SELECT id, history FROM source_histories ORDER BY id DESC LIMIT 1")
        if let newest, newest["history"] == history.rawValue { return newest["id"] }
        try db.execute(sql: "INSERT INTO source_histories (history) VALUES (?)", arguments: [history.rawValue])
        return db.lastInsertedRowID
    }

    package func newestWriteCheckpoint(ofHistory number: Int64) throws -> LSN? {
        try String.fetchOne(
            db,
            sql: "SELECT max(lsn) FROM write_checkpoints WHERE history_id = ?",
            arguments: [number]
        ).map { LSN($0) }
    }

    // MARK: Source tables

    package func sourceTables(of stream: ReplicationStreamID) throws -> [SourceTable] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, relation_id, schema_name, table_name, identity_columns, form, columns, snapshot_done,
                    snapshot_last_key, is_outdated, fill_config, fill_last_key
                FROM source_tables WHERE stream = ?
                """,
            arguments: [stream.rawValue]
        )
        return try rows.map { row in
            SourceTable(
                id: row["id"],
                descriptor: try SourceTableDescriptor(
                    name: SourceTableName(schema: row["schema_name"], name: row["table_name"]),
                    relationID: row["relation_id"],
                    encodedIdentity: row["identity_columns"],
                    encodedForm: row["form"],
                    encodedColumns: row["columns"]
                ),
                isSnapshotDone: row["snapshot_done"],
                lastSnapshotKey: (row["snapshot_last_key"] as Data?).map { SnapshotKey(rawValue: Array($0)) },
                isOutdated: row["is_outdated"],
                fill: (row["fill_last_key"] as Data?).map {
                    SourceTable.Fill(configNumber: row["fill_config"], lastKey: SnapshotKey(rawValue: Array($0)))
                }
            )
        }
    }

    /// Stores a new record of a source table.
    func insert(_ table: SourceTable, of stream: ReplicationStreamID) throws {
        try db.execute(
            sql: """
                INSERT INTO source_tables
                    (id, stream, relation_id, schema_name, table_name, identity_columns, form, columns)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                table.id, stream.rawValue, table.descriptor.relationID, table.descriptor.name.schema,
                table.descriptor.name.name, try table.descriptor.encodedIdentity(), try table.descriptor.encodedForm(),
                try table.descriptor.encodedColumns(),
            ]
        )
    }

    /// Stores what changes of the record of a source table.
    func update(_ table: SourceTable) throws {
        try db.execute(
            sql: """
                UPDATE source_tables SET columns = ?, snapshot_done = ?, snapshot_last_key = ?, is_outdated = ?,
                    fill_config = ?, fill_last_key = ?
                WHERE id = ?
                """,
            arguments: [
                try table.descriptor.encodedColumns(), table.isSnapshotDone,
                table.lastSnapshotKey.map { Data($0.rawValue) }, table.isOutdated, table.fill?.configNumber,
                table.fill.map { Data($0.lastKey.rawValue) }, table.id,
            ]
        )
    }
}

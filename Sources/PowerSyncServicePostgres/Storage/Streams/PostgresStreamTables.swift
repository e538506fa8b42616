import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The rows of `replication_streams`, `source_histories` and `source_tables`.
package struct PostgresStreamTables: StreamTables {
    private let db: PostgresStatements
    private let storage: PostgresStorageSchema
    /// Whether records that are read are locked against changes until the end of the transaction.
    private let locks: Bool
    /// Whether the states of streams were changed, or there is a new one.
    private(set) var isChanged = false

    /// Runs statements in a transaction, or alone if they only read.
    ///
    /// A caller that changes states has the lock of ``PostgresStorageSchema/lockStreams(_:)``, or it would not see what another one does.
    ///
    /// - Parameters:
    ///   - db: The statements of the transaction.
    ///   - storage: The tables.
    ///   - locks: Whether the records of streams that are read are locked: what is decided by them holds until the end, also where
    ///     writers change them.
    init(_ db: PostgresStatements, in storage: PostgresStorageSchema, locks: Bool = false) {
        self.db = db
        self.storage = storage
        self.locks = locks
    }

    // MARK: Streams

    package func record(of stream: ReplicationStreamID) throws -> StreamRecord {
        try record(of: stream, locked: false).record
    }

    /// Reads a record, and the `writer_epoch` of the stream.
    ///
    /// - Parameters:
    ///   - stream: The number of the stream.
    ///   - locked: Whether the row is locked against changes until the end of the transaction.
    /// - Returns: The record.
    /// - Throws: As ``record(of:)``.
    func record(of stream: ReplicationStreamID, locked: Bool) throws -> (record: StreamRecord, epoch: Int64) {
        var found: (record: StreamRecord, epoch: Int64)?
        try db.run(together: [reading(stream, locked: locked) { found = ($0, $1) }])
        guard let found else { throw unknown(stream) }
        return found
    }

    /// The statement of ``record(of:locked:)``.
    func reading(
        _ stream: ReplicationStreamID,
        locked: Bool,
        _ found: @escaping (StreamRecord, _ epoch: Int64) -> Void
    ) -> PostgresStatements.Statement {
        PostgresStatements.Statement(
            sql: "\(query) WHERE id = $1\(locked ? " FOR NO KEY UPDATE" : "")",
            arguments: [.integer(stream.rawValue)]
        ) { found(try Self.record($0), try $0.integer(13)) }
    }

    private func unknown(_ stream: ReplicationStreamID) -> BucketStorageError {
        BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(stream).")
    }

    package func records(in states: Set<ReplicationStream.State>) throws -> [StreamRecord] {
        var records: [StreamRecord] = []
        try db.run(together: [reading(states) { records.append($0) }])
        return records
    }

    /// Reads the records of all streams in a set of states, by their numbers.
    func reading(
        _ states: Set<ReplicationStream.State>,
        _ read: @escaping (StreamRecord) -> Void
    ) -> PostgresStatements.Statement {
        let names = states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
        return PostgresStatements.Statement(
            sql: "\(query) WHERE state IN (\(names)) ORDER BY id\(locks ? " FOR NO KEY UPDATE" : "")"
        ) { read(try Self.record($0)) }
    }

    private var query: String {
        """
        SELECT id, state, source_handle, snapshot_done, snapshot_lsn, last_checkpoint, last_checkpoint_lsn,
            extract(epoch FROM last_checkpoint_at)::text, no_checkpoint_before, keepalive_op, history_id, version_label,
            hash_key, writer_epoch, config_number, last_config_number, has_next, next_version_label, next_filled_tables,
            next_is_filled
        FROM \(db.schema).replication_streams
        """
    }

    private static func record(_ row: BinaryRow) throws -> StreamRecord {
        let id = try ReplicationStreamID(rawValue: row.integer(0))
        guard let state = row.optionalText(1).flatMap({ ReplicationStream.State(rawValue: $0) }) else {
            throw BucketStorageError(
                .corrupted,
                "Replication stream \(id) has the unknown state \(row.optionalText(1) ?? "NULL")."
            )
        }
        var record = StreamRecord(id: id, state: state, sourceHandle: try row.text(2), hashKey: try row.bytes(12))
        record.isSnapshotDone = try row.boolean(3)
        record.snapshotLSN = row.optionalText(4).map { LSN($0) }
        record.lastCheckpoint = try row.optionalInteger(5).map { OpID($0) }
        record.lastCheckpointLSN = row.optionalText(6).map { LSN($0) }
        record.lastCheckpointAt = row.optionalText(7).flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0) }
        record.noCheckpointBefore = row.optionalText(8).map { LSN($0) }
        record.keepaliveOp = try row.optionalInteger(9).map { OpID($0) }
        record.historyID = try row.integer(10)
        record.versionLabel = row.optionalText(11)
        record.configNumber = try row.integer(14)
        record.lastConfigNumber = try row.integer(15)
        if try row.boolean(16) {
            record.next = StreamRecord.NextConfig(
                versionLabel: row.optionalText(17),
                encodedTables: try row.text(18),
                isFilled: try row.boolean(19)
            )
        }
        return record
    }

    package func config(of stream: ReplicationStreamID) throws -> StreamConfig.Stored {
        let found = try db.first(
            "SELECT content, sync_plan FROM \(db.schema).replication_streams WHERE id = $1",
            [.integer(stream.rawValue)]
        ) { try StreamConfig.Stored(content: $0.text(0), encodedPlan: $0.text(1)) }
        guard let found else { throw unknown(stream) }
        return found
    }

    package func nextConfig(of stream: ReplicationStreamID) throws -> StreamConfig.Stored {
        let found = try db.first(
            "SELECT next_content, next_sync_plan FROM \(db.schema).replication_streams WHERE id = $1 AND has_next",
            [.integer(stream.rawValue)]
        ) { try StreamConfig.Stored(content: $0.text(0), encodedPlan: $0.text(1)) }
        guard let found else { throw unknown(stream) }
        return found
    }

    package mutating func setNextConfig(_ next: NewNextConfig?, of stream: ReplicationStreamID) throws {
        try db.run(
            """
            UPDATE \(db.schema).replication_streams SET last_config_number = coalesce($2, last_config_number),
                has_next = $3::text::boolean, next_version_label = $4, next_filled_tables = '', next_is_filled = false,
                next_content = $5, next_sync_plan = $6
            WHERE id = $1
            """,
            [
                .integer(stream.rawValue), .integer(next?.number), .text("\(next != nil)"),
                .bytes(next?.versionLabel.map { Array($0.utf8) }), .bytes(next.map { Array($0.config.content.utf8) }),
                .text(next?.config.encodedPlan),
            ]
        )
        isChanged = true
    }

    package mutating func setNextVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET next_version_label = $1 WHERE id = $2 AND has_next",
            [.bytes(label.map { Array($0.utf8) }), .integer(stream.rawValue)]
        )
    }

    package mutating func takeNextConfig(of stream: ReplicationStreamID) throws {
        try db.run(
            """
            UPDATE \(db.schema).replication_streams SET config_number = last_config_number,
                version_label = next_version_label, content = next_content, sync_plan = next_sync_plan
            WHERE id = $1 AND has_next
            """,
            [.integer(stream.rawValue)]
        )
        try setNextConfig(nil, of: stream)
    }

    /// Inserts a processing stream, with tables for its data.
    package mutating func insert(_ stream: NewStream) throws -> ReplicationStreamID {
        let id = try db.one(
            """
            INSERT INTO \(db.schema).replication_streams
                (state, source_handle, content, sync_plan, version_label, hash_key, config_number, last_config_number)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING id
            """,
            [
                .text(ReplicationStream.State.processing.rawValue), .text(stream.sourceHandle),
                .bytes(Array(stream.config.content.utf8)), .text(stream.config.encodedPlan),
                .bytes(stream.versionLabel.map { Array($0.utf8) }), .bytes(stream.hashKey),
                .integer(stream.configNumber),
            ]
        ) { try ReplicationStreamID(rawValue: $0.integer(0)) }
        try PostgresStorageSchema.createPartitions(of: id, db)
        isChanged = true
        return id
    }

    package mutating func setState(_ state: ReplicationStream.State, of stream: ReplicationStreamID) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET state = $1 WHERE id = $2",
            [.text(state.rawValue), .integer(stream.rawValue)]
        )
        isChanged = true
    }

    package mutating func setVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET version_label = $1 WHERE id = $2",
            [.bytes(label.map { Array($0.utf8) }), .integer(stream.rawValue)]
        )
    }

    /// Deletes the data of a stopped stream, and marks it as terminated; does nothing for one in another state.
    mutating func deleteData(of stream: ReplicationStreamID) throws {
        guard try record(of: stream, locked: true).record.state == .stop else { return }
        try PostgresStorageSchema.dropPartitions(of: stream, db)
        try db.run("DELETE FROM \(db.schema).source_tables WHERE stream = $1", [.integer(stream.rawValue)])
        // Those of the streams before: a process may just be looking at this one.
        try db.run(
            """
            DELETE FROM \(db.schema).writers AS w USING \(db.schema).replication_streams AS s
            WHERE s.id = w.stream AND s.state = 'TERMINATED'
            """
        )
        try setState(.terminated, of: stream)
    }

    /// Stores what a writer changes in a record.
    func update(_ record: StreamRecord) -> PostgresStatements.Statement {
        PostgresStatements.Statement(
            sql: """
                UPDATE \(db.schema).replication_streams SET snapshot_done = $2::text::boolean, snapshot_lsn = $3,
                    last_checkpoint = $4, last_checkpoint_lsn = $5,
                    last_checkpoint_at = to_timestamp($6::text::double precision), no_checkpoint_before = $7,
                    keepalive_op = $8, history_id = $9, next_filled_tables = $10, next_is_filled = $11::text::boolean
                WHERE id = $1
                """,
            arguments: [
                .integer(record.id.rawValue), .text("\(record.isSnapshotDone)"), .text(record.snapshotLSN?.rawValue),
                .integer(record.lastCheckpoint?.rawValue), .text(record.lastCheckpointLSN?.rawValue),
                .text(record.lastCheckpointAt.map { "\($0.timeIntervalSince1970)" }),
                .text(record.noCheckpointBefore?.rawValue), .integer(record.keepaliveOp?.rawValue),
                .integer(record.historyID), .text(record.next?.encodedTables ?? ""),
                .text("\(record.next?.isFilled ?? false)"),
            ]
        )
    }

    // MARK: Histories

    package func history(_ number: Int64) throws -> SourceHistory? {
        try db.first("SELECT history FROM \(db.schema).source_histories WHERE id = $1", [.integer(number)]) {
            SourceHistory(rawValue: try $0.text(0))
        }
    }

    /// No other process gives numbers to histories before the end of the transaction, or one history could get two numbers.
    package func number(of history: SourceHistory) throws -> Int64 {
        try db.run("SELECT pg_advisory_xact_lock(\(storage.lockKey("histories")))")
        let newest = try db.first("SELECT id, history FROM \(db.schema).source_histories ORDER BY id DESC LIMIT 1") {
            (id: try $0.integer(0), history: $0.optionalText(1))
        }
        if let newest, newest.history == history.rawValue { return newest.id }
        return try db.one(
            "INSERT INTO \(db.schema).source_histories (history) VALUES ($1) RETURNING id",
            [.text(history.rawValue)]
        ) { try $0.integer(0) }
    }

    package func newestWriteCheckpoint(ofHistory number: Int64) throws -> LSN? {
        try db.one("SELECT max(lsn) FROM \(db.schema).write_checkpoints WHERE history_id = $1", [.integer(number)]) {
            $0.optionalText(0).map { LSN($0) }
        }
    }

    // MARK: Source tables

    package func sourceTables(of stream: ReplicationStreamID) throws -> [SourceTable] {
        try db.rows(
            """
            SELECT id, relation_id, schema_name, table_name, identity_columns, form, snapshot_done, snapshot_last_key,
                columns, is_outdated, fill_config, fill_last_key
            FROM \(db.schema).source_tables WHERE stream = $1
            """,
            [.integer(stream.rawValue)]
        ) { row in
            SourceTable(
                id: try row.text(0),
                descriptor: try SourceTableDescriptor(
                    name: SourceTableName(schema: try row.text(2), name: try row.text(3)),
                    relationID: try row.text(1),
                    encodedIdentity: try row.text(4),
                    encodedForm: try row.text(5),
                    encodedColumns: try row.text(8)
                ),
                isSnapshotDone: try row.boolean(6),
                lastSnapshotKey: row.optionalBytes(7).map { SnapshotKey(rawValue: $0) },
                isOutdated: try row.boolean(9),
                fill: try row.optionalBytes(11).map {
                    SourceTable.Fill(configNumber: try row.integer(10), lastKey: SnapshotKey(rawValue: $0))
                }
            )
        }
    }

    /// Stores a new record of a source table.
    func insert(_ table: SourceTable, of stream: ReplicationStreamID) throws {
        try db.run(
            """
            INSERT INTO \(db.schema).source_tables
                (id, stream, relation_id, schema_name, table_name, identity_columns, form, columns)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                .text(table.id), .integer(stream.rawValue), .text(table.descriptor.relationID),
                .text(table.descriptor.name.schema), .text(table.descriptor.name.name),
                .text(try table.descriptor.encodedIdentity()), .text(try table.descriptor.encodedForm()),
                .text(try table.descriptor.encodedColumns()),
            ]
        )
    }

    /// Stores what changes of the record of a source table.
    func update(_ table: SourceTable) throws {
        try db.run(
            """
            UPDATE \(db.schema).source_tables SET columns = $2, snapshot_done = $3::text::boolean, snapshot_last_key = $4,
                is_outdated = $5::text::boolean, fill_config = $6, fill_last_key = $7
            WHERE id = $1
            """,
            [
                .text(table.id), .text(try table.descriptor.encodedColumns()), .text("\(table.isSnapshotDone)"),
                .bytes(table.lastSnapshotKey?.rawValue), .text("\(table.isOutdated)"),
                .integer(table.fill?.configNumber), .bytes(table.fill?.lastKey.rawValue),
            ]
        )
    }
}

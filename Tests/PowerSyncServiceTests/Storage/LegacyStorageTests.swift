import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncRules
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Files of version 1, which are served until the source has been copied again.
@Suite(.timeLimit(.minutes(1))) struct LegacyStorageTests {
    private static let config = """
        config:
          edition: 3
        streams:
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """
    private static let lookup = ParameterLookup(rawValue: #"0["u1"]"#)

    /// Writes a file as version 1 did: an active stream with two operations, and one that is being replicated.
    static func write(_ path: String) async throws {
        let database = try DatabaseQueue(path: path)
        let encodedPlan = try plan(config).encodedJSON()
        try await database.write { db in
            try db.execute(sql: Self.schema)
            let outputs = StoredValues.encode([ParameterRow(values: [.text("g1")])])
            try db.execute(
                sql: """
                    INSERT INTO sync_rules (state, slot_name, content, sync_plan, snapshot_done, last_checkpoint,
                        last_checkpoint_lsn)
                    VALUES ('ACTIVE', 's1', :content, :plan, 1, 3, '0000000000000007'),
                        ('PROCESSING', 's2', 'other', :plan, 0, NULL, NULL);
                    """,
                arguments: ["content": Self.config, "plan": encodedPlan]
            )
            try db.execute(
                sql: """
                    INSERT INTO bucket_data (group_id, bucket_name, op_id, op, checksum, source_table, source_key,
                        table_name, row_id, data)
                    VALUES (1, '1#d|0["g1"]', 1, 'PUT', 7, 't', :key, 'docs', 'a', '{}'),
                        (1, '1#d|0["g1"]', 2, 'REMOVE', 8, 't', :key, 'docs', 'a', NULL)
                    """,
                arguments: ["key": Data(repeating: 1, count: 16)]
            )
            try db.execute(
                sql: """
                    INSERT INTO bucket_parameters (group_id, lookup, source_table, source_key, id, bucket_parameters)
                    VALUES (1, :lookup, 't', x'01', 3, :outputs);
                    """,
                arguments: ["lookup": Self.lookup.rawValue, "outputs": Data(outputs)]
            )
            try db.execute(
                sql: """
                    UPDATE op_sequence SET last_op_id = 3;
                    INSERT INTO write_checkpoints (user_id, write_checkpoint, lsn) VALUES ('u', 4, '0000000000000009');
                    PRAGMA user_version = 1;
                    """
            )
        }
        try database.close()
    }

    @Test func oldStreamIsServedUntilANewOneIsActive() async throws {
        let folder = try TemporaryFolder()
        try await Self.write(folder.path("buckets.db"))
        let storage = try SQLiteBucketStorage(path: folder.path("buckets.db"))
        let old = try #require(try await storage.activeStream())
        let checkpoint = try #require(storage.feed.current)
        #expect(checkpoint == StorageCheckpoint(streamID: old.id, opID: OpID(3), lsn: LSN("0000000000000007")))

        let bucket = BucketName(#"1#d|0["g1"]"#)
        #expect(
            try await storage.checksums([bucket], at: checkpoint)
                == [bucket: BucketChecksum(checksum: Checksum(truncating: 15), count: 2)]
        )
        let chunks = try await storage.bucketData([.init(name: bucket, after: .zero)], at: checkpoint)
        #expect(chunks.flatMap(\.line.operations).map(\.kind) == [.put, .remove])
        let rows = try await storage.parameterRows([Self.lookup], at: checkpoint, limit: 10)
        #expect(rows == [Self.lookup: [ParameterRow(values: [.text("g1")])]])
        #expect(try await storage.visibleWriteCheckpoint(userKey: "u", at: checkpoint) == nil)

        // The same text is copied again.
        let next = try await storage.deploy(Self.config, plan: try plan(Self.config))
        #expect(next.id != old.id)
        #expect(try await storage.streams().map(\.state) == [.errored, .stop, .processing])
        var writer = try await storage.writer(of: next.id)
        try await writer.setResumePosition(.at(1))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(1))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        let newer = try #require(storage.feed.current)
        #expect(newer.streamID == next.id)
        #expect(try await storage.visibleWriteCheckpoint(userKey: "u", at: newer) == WriteCheckpoint(4))

        for stream in try await storage.streams() where stream.state == .stop {
            try await storage.deleteData(of: stream.id)
        }
        let tables = try await storage.pool.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name GLOB 'bucket_*'")
        }
        #expect(tables.isEmpty)
        try storage.close()
    }

    /// What version 1 created.
    private static let schema = """
        CREATE TABLE op_sequence (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            last_op_id INTEGER NOT NULL
        );
        INSERT INTO op_sequence (id, last_op_id) VALUES (1, 0);

        CREATE TABLE sync_rules (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL,
            slot_name TEXT NOT NULL UNIQUE,
            content TEXT NOT NULL,
            sync_plan TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_lsn TEXT,
            last_checkpoint INTEGER,
            last_checkpoint_lsn TEXT,
            last_checkpoint_ts TEXT,
            no_checkpoint_before TEXT,
            keepalive_op INTEGER
        );

        CREATE TABLE bucket_data (
            group_id INTEGER NOT NULL,
            bucket_name TEXT NOT NULL,
            op_id INTEGER NOT NULL,
            op TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            target_op INTEGER,
            source_table TEXT,
            source_key BLOB,
            table_name TEXT,
            row_id TEXT,
            data TEXT,
            PRIMARY KEY (group_id, bucket_name, op_id)
        ) WITHOUT ROWID;

        CREATE TABLE bucket_parameters (
            group_id INTEGER NOT NULL,
            lookup TEXT NOT NULL,
            source_table TEXT NOT NULL,
            source_key BLOB NOT NULL,
            id INTEGER NOT NULL,
            bucket_parameters BLOB NOT NULL,
            PRIMARY KEY (group_id, lookup, source_table, source_key, id)
        ) WITHOUT ROWID;

        CREATE TABLE current_data (
            group_id INTEGER NOT NULL,
            source_table TEXT NOT NULL,
            source_key BLOB NOT NULL,
            buckets BLOB NOT NULL,
            lookups BLOB NOT NULL,
            PRIMARY KEY (group_id, source_table, source_key)
        ) WITHOUT ROWID;

        CREATE TABLE source_tables (
            id TEXT PRIMARY KEY,
            group_id INTEGER NOT NULL,
            relation_id TEXT NOT NULL,
            schema_name TEXT NOT NULL,
            table_name TEXT NOT NULL,
            replica_id_columns TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_last_key BLOB
        );
        CREATE INDEX source_tables_of_group ON source_tables (group_id);

        CREATE TABLE write_checkpoints (
            user_id TEXT PRIMARY KEY,
            write_checkpoint INTEGER NOT NULL,
            lsn TEXT NOT NULL,
            visible_write_checkpoint INTEGER,
            visible_lsn TEXT,
            checkpoint_requested_at TEXT
        );
        """
}

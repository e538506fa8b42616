import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncRules
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Files of version 2, without segments, which are served until the source has been copied again.
@Suite(.timeLimit(.minutes(1))) struct LegacyOperationTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// Writes a file as version 2 did: an active stream with 40 operations, one of them superseded.
    private func write(_ path: String) async throws {
        let database = try DatabaseQueue(path: path)
        let encodedPlan = try plan(Self.config).encodedJSON()
        try await database.write { db in
            try db.execute(sql: Self.schema)
            try db.execute(
                sql: """
                    INSERT INTO sync_rules (state, slot_name, content, sync_plan, snapshot_done, last_checkpoint,
                        last_checkpoint_lsn, storage_version, history_id)
                    VALUES ('ACTIVE', 's1', ?, ?, 1, 40, '0000000000000007', 2, 1);
                    """,
                arguments: [Self.config, encodedPlan]
            )
            try db.execute(
                sql: """
                    INSERT INTO source_histories (history) VALUES ('first');
                    INSERT INTO names (name) VALUES ('t'), ('test');
                    INSERT INTO source_tables (id, group_id, relation_id, schema_name, table_name, replica_id_columns)
                    VALUES ('t', 1, 'test', 'main', 'test', '[{"name":"id","type":"TEXT"}]');
                    INSERT INTO buckets (group_id, name, last_op, checksum, count) VALUES (1, '1#g|0[]', 40, 280, 40);
                    UPDATE op_sequence SET last_op_id = 40;
                    INSERT INTO superseded (op_id, group_id, by_op) VALUES (1, 1, 40);
                    PRAGMA user_version = 2;
                    """
            )
            for opID in 1...40 {
                let key = Data(repeating: UInt8(max(1, opID % 40)), count: 16)
                try db.execute(
                    sql: """
                        INSERT INTO operations (op_id, bucket, op, checksum, source_table, source_key, table_name, row_id,
                            data)
                        VALUES (?, 1, 'P', 7, 1, ?, 2, ?, '{}')
                        """,
                    arguments: [opID, key, "r\(max(1, opID % 40))"]
                )
                try db.execute(
                    sql: "INSERT OR REPLACE INTO row_states (source_table, source_key, state) VALUES (1, ?, ?)",
                    arguments: [key, Data([1, UInt8(opID)])]
                )
            }
        }
        try database.close()
    }

    @Test func oldStreamIsServedAndNotTouchedUntilANewOneIsActive() async throws {
        let folder = try TemporaryFolder()
        try await write(folder.path("buckets.db"))
        let storage = try SQLiteBucketStorage(path: folder.path("buckets.db"))
        let old = try #require(try await storage.streams().first)
        let checkpoint = try #require(storage.feed.current)
        #expect(old.state == .errored)
        for _ in 0..<2 {
            let operations = try await storage.allOperations("g|0[]", of: old, at: checkpoint)
            #expect(operations.map(\.kind) == [String](repeating: "PUT", count: 40))
            let name = BucketName("1#g|0[]")
            let sum = BucketChecksum(checksum: Checksum(280), count: 40)
            #expect(try await storage.checksums([name], at: checkpoint) == [name: sum])
            try await storage.seal()
            #expect(try await storage.compact() == CompactionResult())
        }

        let next = try await storage.deploy(Self.config, plan: try plan(Self.config))
        #expect(next.id != old.id)
        var writer = try await storage.writer(of: next.id)
        #expect(writer.sourceTables.isEmpty)
        try await writer.setResumePosition(.at(1))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(1))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(storage.feed.current?.streamID == next.id)
        try await storage.deleteData(of: old.id)
        for table in ["operations", "buckets", "row_states", "source_tables"] {
            let left = try await storage.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
            #expect(left == 0, "\(table)")
        }
        try storage.close()
    }

    /// What version 2 created.
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

        CREATE TABLE write_checkpoints (
            user_id TEXT PRIMARY KEY,
            write_checkpoint INTEGER NOT NULL,
            lsn TEXT NOT NULL,
            visible_write_checkpoint INTEGER,
            visible_lsn TEXT,
            checkpoint_requested_at TEXT
        );

        ALTER TABLE sync_rules ADD COLUMN storage_version INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE sync_rules ADD COLUMN history_id INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sync_rules ADD COLUMN compacted_op INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE op_sequence ADD COLUMN synced INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE write_checkpoints ADD COLUMN history_id INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE write_checkpoints ADD COLUMN visible_history_id INTEGER;

        CREATE TABLE source_histories (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            history TEXT NOT NULL
        );

        CREATE TABLE names (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        );

        CREATE TABLE buckets (
            id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            name TEXT NOT NULL,
            last_op INTEGER NOT NULL DEFAULT 0,
            checksum INTEGER NOT NULL DEFAULT 0,
            count INTEGER NOT NULL DEFAULT 0,
            cleared_op INTEGER NOT NULL DEFAULT 0,
            is_uncleared INTEGER NOT NULL DEFAULT 0,
            UNIQUE (group_id, name)
        );
        CREATE INDEX uncleared_buckets ON buckets (group_id) WHERE is_uncleared = 1;

        CREATE TABLE operations (
            op_id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            op TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            target_op INTEGER,
            source_table INTEGER,
            source_key BLOB,
            table_name INTEGER,
            row_id TEXT,
            data TEXT
        );
        CREATE INDEX operations_of_bucket ON operations (bucket);

        CREATE TABLE lookups (
            id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            lookup TEXT NOT NULL,
            UNIQUE (group_id, lookup)
        );

        CREATE TABLE parameter_entries (
            op_id INTEGER PRIMARY KEY,
            lookup INTEGER NOT NULL,
            source_table INTEGER NOT NULL,
            source_key BLOB NOT NULL,
            outputs BLOB NOT NULL
        );
        CREATE INDEX entries_of_lookup ON parameter_entries (lookup);

        CREATE TABLE row_states (
            source_table INTEGER NOT NULL,
            source_key BLOB NOT NULL,
            state BLOB NOT NULL,
            PRIMARY KEY (source_table, source_key)
        ) WITHOUT ROWID;

        CREATE TABLE superseded (
            op_id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            by_op INTEGER NOT NULL
        );
        CREATE INDEX superseded_of_group ON superseded (group_id, by_op);

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
        """
}

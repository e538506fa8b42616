import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Upgrading files of older versions (docs/database.md "Migrations").
@Suite struct UpMigrationsTests {
    private static let schema = ClientSchema(
        tables: ["lists", "todos"].map {
            ClientTable(name: $0, columns: [ClientColumn(name: "name", type: .text)])
        }
    )

    /// The keys of the write gate and their values.
    private func gate(_ database: LocalTestDatabase) throws -> [String] {
        try database.rows("SELECT key, value FROM ps_kv WHERE key GLOB '*_checkpoint_request_id' ORDER BY key")
    }

    // MARK: - Shapes

    @Test(arguments: 1...13, [false, true])
    func upgradedFilesLookLikeFreshOnes(version: Int, content: Bool) throws {
        let fresh = try LocalTestDatabase(schema: ClientSchema())
        let database = try LocalTestDatabase(version: version, content: content)
        try database.migrate()
        #expect(try database.shape().difference(from: fresh.shape()) == [])
        let versions = "SELECT id, down_migrations FROM ps_migration ORDER BY id"
        #expect(try database.rows(versions) == fresh.rows(versions))
        #expect(try database.integer("PRAGMA user_version") == 1)
        if !content {
            #expect(try database.objects() == fresh.objects())
        }
    }

    /// Every step alone leads to the tables of its version.
    @Test func eachStepLeadsToTheShapeOfItsVersion() throws {
        let queue = try DatabaseQueue(configuration: Configuration().forPowerSync())
        for version in 1...13 {
            let shape = try queue.write { db in
                try SystemTables.migrate(db, to: version)
                return try FileShape(db)
            }
            let native = try LocalTestDatabase(version: version, content: false)
            #expect(try shape.difference(from: native.shape()) == [], "version \(version)")
        }
        try queue.write { try SystemTables.migrate($0) }
        let fresh = try LocalTestDatabase(schema: ClientSchema())
        #expect(try queue.read { try FileShape($0) }.difference(from: fresh.shape()) == [])
        let id = try queue.read { try KeyValueStore.clientID($0) }
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }

    @Test(arguments: 1...13)
    func secondMigrationChangesNothing(version: Int) throws {
        let database = try LocalTestDatabase(version: version)
        try database.migrate()
        let schemaVersion = try database.schemaVersion()
        try database.migrate()
        #expect(try database.schemaVersion() == schemaVersion)
    }

    // MARK: - Content

    @Test(arguments: 1...13)
    func contentIsKept(version: Int) throws {
        let database = try LocalTestDatabase(version: version)
        try database.migrate()
        #expect(
            try database.rows(
                """
                SELECT name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete FROM ps_buckets ORDER BY id
                """
            ) == ["b1|5|6|147|5|0", "b2|0|9|1005|3|0"]
        )
        #expect(
            try database.rows(
                """
                SELECT ps_buckets.name, op_id, row_type, row_id, key, data, hash
                FROM ps_oplog JOIN ps_buckets ON ps_buckets.id = ps_oplog.bucket ORDER BY 1, 2
                """
            ) == [
                #"b1|2|lists|l2|lists/l2/null|{"name":"two"}|-6"#,
                #"b1|6|lists|l1|lists/l1/null|{"name":"one"}|11"#,
                #"b2|3|todos|t1|todos/t1/null|{"name":"to do"}|3"#,
            ]
        )
        // Rows without operations are looked for once, on the way to version 6.
        #expect(
            try database.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2")
                == ["lists|l9"] + (version < 6 ? ["lists|orphan"] : []) + ["todos|t2"]
        )
        #expect(
            try gate(database).filter { !$0.hasPrefix("last_requested") } == [
                "last_applied_checkpoint_request_id|5", "last_seen_checkpoint_request_id|6",
                "target_checkpoint_request_id|7",
            ]
        )
        #expect(try database.entries() == VersionFixture.entries)
        #expect(
            try database.rows("SELECT id, tx_id FROM ps_crud") == (version == 1 ? ["41|", "42|"] : ["41|4", "42|4"])
        )
        #expect(try database.queue.read { try UploadQueue.sequence($0) } == 42)
        #expect(try database.rows("SELECT * FROM ps_tx") == [version == 1 ? "1||1" : "1||5"])
        #expect(try database.rows("SELECT type, id, data FROM ps_untyped") == [#"other|o1|{"a":1}"#])
        #expect(try database.rows("SELECT id FROM ps_data__lists ORDER BY id") == ["l1", "l2", "l9", "orphan"])
        #expect(try database.rows("SELECT id FROM ps_data_local__drafts") == ["d1"])
        #expect(
            try database.rows("SELECT name FROM sqlite_master WHERE name IN ('leftover', 'dangling', 'welcome')").count
                == 3
        )
    }

    /// What only later versions know.
    @Test(arguments: 1...13)
    func laterContentIsKept(version: Int) throws {
        let database = try LocalTestDatabase(version: version)
        try database.migrate()
        let clientID = try database.queue.read { try KeyValueStore.clientID($0) }
        #expect((clientID == VersionFixture.clientID) == (version >= 3))
        #expect(try gate(database).contains("last_requested_checkpoint_request_id|9") == (version >= 3))
        #expect(
            try database.rows("SELECT value FROM ps_kv WHERE key = 'foreign key'") == (version >= 3 ? ["kept"] : [])
        )
        #expect(
            try database.rows("SELECT priority, last_synced_at FROM ps_sync_state")
                == (version >= 3 ? ["2147483647|\(VersionFixture.lastSyncedAt.microseconds)"] : [])
        )
        #expect(
            try database.rows("SELECT count_at_last, count_since_last, downloaded_size FROM ps_buckets ORDER BY id")
                == ["\(version >= 9 ? "2|1" : "0|0")|\(version >= 12 ? 321 : 0)", "0|0|0"]
        )
        #expect(
            try database.rows("SELECT * FROM ps_stream_subscriptions ORDER BY id")
                == (version >= 11
                    ? [#"3|s|1|0|2|{"a":1}|60|1800000000000000|1700000000000000"#, "5|d|1|1||null|||"] : [])
        )
    }

    /// Local writes work after the upgrade, and the queue has old and new entries.
    @Test(arguments: 1...13)
    func upgradedFilesAreUsable(version: Int) throws {
        let database = try LocalTestDatabase(version: version)
        try database.apply(Self.schema)
        #expect(try database.rows("SELECT name FROM lists WHERE id = 'l1'") == ["one"])
        try database.write(
            "INSERT INTO lists(id, name) VALUES ('n1', 'x'); UPDATE todos SET name = 'y' WHERE id = 't1'"
        )
        try database.write("DELETE FROM lists WHERE id = 'n1'")

        let writes = try #require(database.queue.read { try UploadQueue.batch($0) }).writes
        #expect(writes.map(\.id) == [41, 42, 43, 44, 45])
        #expect(writes.map(\.kind) == [.put, .patch, .put, .patch, .delete])
        #expect(writes.map(\.rowID) == ["l9", "l9", "n1", "t1", "n1"])
        #expect(writes.map(\.transactionID) == (version == 1 ? [nil, nil, 1, 1, 2] : [4, 4, 5, 5, 6]))
        #expect(writes[1].previousValues?["name"] == .string("new"))
        #expect(writes[1].metadata == "m")
        let first = try database.queue.read { try UploadQueue.nextTransaction($0, after: nil) }
        #expect(first.map(\.id) == (version == 1 ? [41] : [41, 42]))

        try database.queue.write { db in
            #expect(try LocalWriteGate.target(db) == LocalWriteGate.pendingTarget)
            try UploadQueue.complete(db, through: 45, writeCheckpoint: WriteCheckpoint(3))
            #expect(try LocalWriteGate.target(db) == WriteCheckpoint(3))
        }
    }

    // MARK: - Single steps

    @Test func danglingRowsAreDeletedByTheNextCheckpoint() throws {
        let database = try LocalTestDatabase(version: 5, content: false)
        try database.write(
            """
            CREATE TABLE ps_data__items(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            INSERT INTO ps_data__items VALUES ('t1', '{}'), ('t2', '{}'), ('t3', '{}');
            INSERT INTO ps_buckets(id, name, last_applied_op, last_op, op_checksum) VALUES (1, 'a', 2, 2, 3);
            INSERT INTO ps_oplog VALUES (1, 1, 'items', 't1', 'items/t1/null', '{}', 1),
              (1, 2, 'items', 't2', 'items/t2/null', '{}', 2);
            """
        )
        try database.apply(ClientSchema(tables: [.items()]))
        let scenario = SyncScenario(database: database)
        #expect(try scenario.updatedRows == ["items|t3"])
        try scenario.start()
        try scenario.receive(.checkpoint(2, [.bucket("a", checksum: 3)]), .done)
        #expect(try scenario.itemIDs == ["t1", "t2"])
        #expect(try scenario.updatedRows == [])
    }

    @Test func operationsOfOtherTablesDoNotHideDanglingRows() throws {
        let database = try LocalTestDatabase(version: 5, content: false)
        try database.write(
            """
            CREATE TABLE ps_data__items(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            CREATE TABLE ps_data__lists(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            CREATE TABLE ps_data_local__drafts(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            INSERT INTO ps_data__items VALUES ('t1', '{}'), ('t2', '{}');
            INSERT INTO ps_data__lists VALUES ('t1', '{}'), ('t2', '{}');
            INSERT INTO ps_data_local__drafts VALUES ('t1', '{}'), ('t3', '{}');
            INSERT INTO ps_updated_rows VALUES ('items', 't1');
            INSERT INTO ps_buckets(id, name, last_applied_op, last_op, op_checksum) VALUES (1, 'a', 2, 2, 3);
            INSERT INTO ps_oplog VALUES (1, 1, 'lists', 't1', 'lists/t1/null', '{}', 1),
              (1, 2, 'items', 't2', 'items/t2/null', '{}', 2);
            """
        )
        try database.migrate(to: 6)
        #expect(
            try database.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2") == ["items|t1", "lists|t2"]
        )
    }

    /// Keys that an earlier way back has left are older than the bucket, also when there is no bucket.
    @Test(arguments: [
        ("INSERT INTO ps_buckets(name, target_op) VALUES ('$local', 7)", ["last_requested|9", "target|7"]),
        ("SELECT 1", ["last_requested|9"]),
    ])
    func leftoverKeysOfTheWriteGateAreForgotten(sql: String, keys: [String]) throws {
        let database = try LocalTestDatabase(version: 13, content: false)
        try database.write(
            """
            INSERT INTO ps_kv VALUES ('target_checkpoint_request_id', 99), ('last_seen_checkpoint_request_id', 98),
              ('last_applied_checkpoint_request_id', 97), ('last_requested_checkpoint_request_id', 9);
            """
        )
        try database.write(sql)
        try database.migrate()
        #expect(try gate(database).map { $0.replacing("_checkpoint_request_id", with: "") } == keys)
    }

    @Test func newestTimeOfEachPriorityIsKept() throws {
        let database = try LocalTestDatabase(version: 7, content: false)
        for second in 10..<20 {
            try database.write(
                "INSERT INTO ps_sync_state VALUES (3, '2025-03-05 14:58:\(second)'), (2147483647, '2025-03-05 15:00:\(second)')"
            )
        }
        try database.migrate(to: 8)
        #expect(
            try database.rows("SELECT priority, last_synced_at FROM ps_sync_state ORDER BY 1")
                == ["3|2025-03-05 14:58:19", "2147483647|2025-03-05 15:00:19"]
        )
    }

    /// Texts that are no times, too.
    @Test func textTimesBecomeMicroseconds() throws {
        let database = try LocalTestDatabase(version: 12, content: false)
        try database.write(
            "INSERT INTO ps_sync_state VALUES (1, '2025-03-05 14:58:09'), (2, 'yesterday'), (3, ''), (2147483647, '1')"
        )
        try database.migrate(to: 13)
        #expect(try database.rows("SELECT * FROM ps_sync_state WHERE priority < 4") == ["1|1741186689000000"])
    }

    @Test func timesBeyondTheRangeOfMicrosecondsBecomeTheLastInstant() throws {
        let database = try LocalTestDatabase(version: 12, content: false)
        try database.write(
            """
            INSERT INTO ps_stream_subscriptions(stream_name, ttl, expires_at, last_synced_at)
            VALUES ('a', 1, 9223372036854775807, -9223372036854775808), ('b', 1, 3000000000, NULL)
            """
        )
        try database.migrate(to: 13)
        #expect(
            try database.rows("SELECT expires_at, last_synced_at FROM ps_stream_subscriptions ORDER BY id")
                == ["9223372036854000000|-9223372036854000000", "3000000000000000|"]
        )
    }

    @Test(arguments: [
        (row: "5, 6, 7", keys: ["last_applied|5", "last_seen|6", "target|7"]),
        (row: "0, 0, 9223372036854775807", keys: ["target|9223372036854775807"]),
        (row: "0, 3, 0", keys: ["last_seen|3"]),
        (row: "0, 0, 0", keys: []),
    ])
    func localBucketBecomesWriteGate(row: String, keys: [String]) throws {
        let database = try LocalTestDatabase(version: 13, content: false)
        try database.write(
            """
            INSERT INTO ps_buckets(name) VALUES ('other');
            INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op) VALUES ('$local', \(row));
            """
        )
        try database.migrate()
        #expect(try gate(database).map { $0.replacing("_checkpoint_request_id", with: "") } == keys)
        #expect(try database.rows("SELECT name FROM ps_buckets") == ["other"])
    }

    @Test func triggersOfTheApplicationSurvive() throws {
        let database = try LocalTestDatabase(version: 3)
        try database.write(
            "CREATE TRIGGER audit AFTER INSERT ON ps_untyped BEGIN DELETE FROM ps_oplog WHERE op_id = -1; END"
        )
        let text = "SELECT sql FROM sqlite_master WHERE name IN ('welcome', 'audit') ORDER BY name"
        let before = try database.rows(text)
        try database.apply(Self.schema)
        #expect(try database.rows(text) == before)
        try database.write(
            #"INSERT INTO ps_data__lists VALUES ('parent', '{}'); INSERT INTO ps_untyped VALUES ('a', 'b', 'c')"#
        )
        #expect(try database.rows("SELECT name FROM lists WHERE id = 'child'") == ["of parent"])
        #expect(try database.entries().last == #"{"op":"PUT","id":"child","type":"lists","data":{"name":"of parent"}}"#)
    }

    /// Without a client schema, the views of before version 5 can be read and not written.
    @Test func oldViewsLoseTheirTriggers() throws {
        let database = try LocalTestDatabase(version: 4)
        try database.migrate()
        #expect(try database.rows("SELECT count(*) FROM lists") == ["4"])
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE name GLOB 'ps_view_*'") == [])
    }

    // MARK: - Failures

    /// A table of the application is in the way of a step: nothing is changed.
    @Test(arguments: [1, 4, 7, 10, 13])
    func failingUpgradeChangesNothing(version: Int) throws {
        let database = try LocalTestDatabase(version: version)
        try database.write("CREATE TABLE ps_buckets_14(x)")
        func dump() throws -> [String] {
            try database.rows("SELECT type, name, sql FROM sqlite_master")
                + database.rows("SELECT * FROM ps_buckets") + database.rows("SELECT * FROM ps_oplog")
                + database.rows("SELECT id, down_migrations FROM ps_migration")
        }
        let before = try dump()
        expectDatabaseError(1, "ps_buckets_14 already exists") { try database.migrate() }
        #expect(try dump() == before)
    }

    /// Values of another type in a table that was not STRICT yet.
    @Test func foreignValuesAreReported() throws {
        let database = try LocalTestDatabase(version: 4)
        try database.write("UPDATE ps_oplog SET data = x'ff' WHERE row_id = 'l1'")
        #expect(throws: DatabaseError.self) { try database.migrate() }
        #expect(try database.integer("SELECT max(id) FROM ps_migration") == 4)
    }

    // MARK: - The SQL function

    @Test func functionGoesToAnyVersion() throws {
        let database = try LocalTestDatabase()
        for version in [13, 5, 9, 1, 14] {
            try database.write("SELECT powersync_test_migration(\(version))")
            #expect(try database.integer("SELECT max(id) FROM ps_migration") == Int64(version))
        }
        #expect(try database.shape().difference(from: LocalTestDatabase().shape()) == [])
        for version in ["0", "15", "NULL", "'x'"] {
            expectDatabaseError(3091, "no internal schema version") {
                try database.write("SELECT powersync_test_migration(\(version))")
            }
        }
        expectDatabaseError(21, "may only be called in transactions") {
            try database.run("SELECT powersync_test_migration(14)")
        }
    }
}

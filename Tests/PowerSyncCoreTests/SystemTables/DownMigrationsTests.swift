import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct DownMigrationsTests {
    private func goBack(_ database: LocalTestDatabase, to version: Int) throws {
        try database.queue.write { try SystemTables.migrate($0, to: version) }
        #expect(try database.integer("SELECT max(id) FROM ps_migration") == Int64(version))
    }

    private func columns(_ database: LocalTestDatabase, _ table: String) throws -> String {
        try database.texts("SELECT name FROM pragma_table_info(?) ORDER BY cid", [table]).compactMap { $0 }
            .joined(separator: " ")
    }

    /// The shapes that older releases expect, by the version that the payloads lead to.
    static let shapes: [(version: Int, table: String, columns: String)] = [
        (
            13, "ps_buckets",
            """
            id name last_applied_op last_op target_op add_checksum op_checksum pending_delete count_at_last \
            count_since_last downloaded_size
            """
        ),
        (12, "ps_sync_state", "priority last_synced_at"),
        (
            11, "ps_buckets",
            """
            id name last_applied_op last_op target_op add_checksum op_checksum pending_delete count_at_last \
            count_since_last
            """
        ),
        (10, "ps_stream_subscriptions", ""),
        (8, "ps_buckets", "id name last_applied_op last_op target_op add_checksum op_checksum pending_delete"),
        (7, "ps_sync_state", "priority last_synced_at"),
        (6, "ps_sync_state", ""),
        (5, "ps_oplog", "bucket op_id row_type row_id key data hash"),
        (
            4, "ps_buckets",
            "name last_applied_op last_op target_op add_checksum pending_delete op_checksum remove_operations"
        ),
        (4, "ps_oplog", "bucket op_id op row_type row_id key data hash superseded"),
        (4, "ps_updated_rows", ""),
        (3, "ps_buckets", "name last_applied_op last_op target_op add_checksum pending_delete"),
        (2, "ps_kv", ""),
        (1, "ps_tx", ""),
        (1, "ps_crud", "id data"),
    ]

    @Test(arguments: shapes)
    func payloadsRestoreOlderShapes(version: Int, table: String, columns: String) throws {
        let database = try LocalTestDatabase()
        try goBack(database, to: version)
        #expect(try self.columns(database, table) == columns)
    }

    @Test func writeGateBecomesLocalBucket() throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            INSERT INTO ps_kv(key, value) VALUES ('last_requested_checkpoint_request_id', 7),
              ('last_seen_checkpoint_request_id', 6), ('last_applied_checkpoint_request_id', 5),
              ('target_checkpoint_request_id', 7);
            INSERT INTO ps_buckets(id, name, last_op, downloaded_size) VALUES (4, 'b', 9, 100);
            """
        )
        try goBack(database, to: 13)
        let rows = try database.rows(
            "SELECT name, pending_delete, last_op, last_applied_op, target_op, downloaded_size FROM ps_buckets ORDER BY id"
        )
        #expect(rows == ["b|0|9|0|0|100", "$local|1|6|5|7|0"])
        #expect(try database.integer("SELECT value FROM ps_kv WHERE key LIKE 'last_requested%'") == 7)
    }

    @Test func openGateCreatesNoLocalBucket() throws {
        let database = try LocalTestDatabase()
        try goBack(database, to: 13)
        #expect(try database.integer("SELECT count(*) FROM ps_buckets") == 0)
    }

    @Test func goingBackToVersion4DropsViewsAndListsUpdatedRows() throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            INSERT INTO ps_buckets(id, name, last_op, op_checksum) VALUES (1, 'b', 3, 12);
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
              VALUES (1, 3, 'items', 'x', 'items/x/null', '{"col":"1"}', 12);
            INSERT INTO items(id, col) VALUES ('local', 'v');
            """
        )
        try goBack(database, to: 4)
        #expect(try database.integer("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')") == 0)
        #expect(try database.rows("SELECT * FROM ps_data__items") == [#"local|{"col":"v"}"#])
        #expect(
            try database.rows("SELECT bucket, op_id, op, row_type, row_id, data, hash, superseded FROM ps_oplog") == [
                #"b|3|3|items|x|{"col":"1"}|12|0"#, "$local|1|4|items|local||0|0",
            ]
        )
        #expect(
            try database.rows("SELECT name, pending_delete, last_op, target_op, op_checksum FROM ps_buckets") == [
                "b|0|3|0|12", "$local|1|0|9223372036854775807|0",
            ]
        )
    }

    @Test func onlyACompleteCheckpointIsTheLastSyncOfOlderVersions() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_sync_state VALUES (3, 1741186689123456)")
        try goBack(database, to: 6)
        #expect(try database.texts("SELECT value FROM ps_kv WHERE key = 'last_synced_at'").isEmpty)
    }

    @Test func gateWithoutTargetCreatesNoLocalBucket() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_kv VALUES ('last_seen_checkpoint_request_id', 6)")
        try goBack(database, to: 13)
        #expect(try database.integer("SELECT count(*) FROM ps_buckets") == 0)
    }

    @Test func timesGoBackToSecondsAndText() throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            INSERT INTO ps_sync_state VALUES (2147483647, 1741186689123456);
            INSERT INTO ps_stream_subscriptions(stream_name, expires_at, last_synced_at) VALUES ('s', 5000001, 3000000);
            """
        )
        try goBack(database, to: 12)
        #expect(try database.rows("SELECT * FROM ps_sync_state") == ["2147483647|2025-03-05 14:58:09"])
        #expect(try database.rows("SELECT expires_at, last_synced_at FROM ps_stream_subscriptions") == ["5|3"])
        try goBack(database, to: 6)
        #expect(try database.texts("SELECT value FROM ps_kv WHERE key = 'last_synced_at'") == ["2025-03-05 14:58:09"])
    }
}

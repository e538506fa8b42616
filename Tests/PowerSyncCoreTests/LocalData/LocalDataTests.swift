import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct LocalDataTests {
    private let database: LocalTestDatabase

    init() throws {
        var local = ClientTable.items(isLocalOnly: true)
        local.name = "drafts"
        database = try LocalTestDatabase(.items(), local)
        try database.write(
            """
            INSERT INTO items(id, col) VALUES ('a', '1'), ('b', '2');
            INSERT INTO drafts(id, col) VALUES ('d', '1');
            INSERT INTO ps_buckets(id, name, last_op, last_applied_op) VALUES (1, 'b', 5, 5);
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, hash) VALUES (1, 5, 'items', 'a', 0);
            INSERT INTO ps_untyped VALUES ('other', 'x', '{}');
            INSERT INTO ps_sync_state VALUES (1, 5), (2147483647, 5);
            INSERT INTO ps_stream_subscriptions(stream_name, ttl, last_synced_at) VALUES ('s', 10, 5);
            INSERT INTO ps_kv VALUES ('other', 'x'), ('powersync_js_migrated_subkeys', '1');
            CREATE TABLE ps_data_of_user(x);
            INSERT INTO ps_data_of_user VALUES (1);
            """
        )
    }

    private func count(_ table: String) throws -> Int64? {
        try database.integer("SELECT count(*) FROM \(table)")
    }

    @Test(arguments: [(ClearOptions(), Int64(1)), (.localTables, 0)])
    func clearingRemovesWhatWasSyncedAndWritten(options: ClearOptions, drafts: Int64) throws {
        let id = try database.queue.read { try KeyValueStore.clientID($0) }
        let sequence = try database.queue.read { try UploadQueue.sequence($0) }
        try database.write("SELECT powersync_clear(?)", [options.rawValue])
        for table in [
            "items", "ps_data__items", "ps_oplog", "ps_buckets", "ps_crud", "ps_untyped", "ps_updated_rows",
            "ps_sync_state", "ps_stream_subscriptions",
        ] {
            #expect(try count(table) == 0, "\(table)")
        }
        #expect(try count("drafts") == drafts)
        #expect(try count("ps_data_of_user") == 1)
        #expect(
            try database.rows("SELECT * FROM ps_kv ORDER BY key") == [
                "client_id|\(id)", "powersync_js_migrated_subkeys|1",
            ]
        )
        #expect(try database.queue.read { try UploadQueue.sequence($0) } == sequence)
        #expect(try database.integer("SELECT next_tx FROM ps_tx") == 2)
    }

    /// Triggers of the app run while tables are emptied, and may write to views.
    @Test(arguments: [ClearOptions(), .localTables, .soft], ["", "WHEN NOT powersync_in_sync_operation()"])
    func clearingQueuesNothing(options: ClearOptions, condition: String) throws {
        var todos = ClientTable.items([ClientColumn(name: "list_id", type: .text)])
        todos.name = "todos"
        let database = try LocalTestDatabase(.items(), todos)
        try database.write(
            """
            CREATE TRIGGER delete_todos AFTER DELETE ON ps_data__items \(condition) BEGIN
              DELETE FROM todos WHERE list_id = OLD.id;
            END;
            INSERT INTO ps_data__items VALUES ('a', '{}'), ('b', '{}');
            INSERT INTO ps_data__todos VALUES ('t', '{"list_id":"a"}'), ('u', '{"list_id":"b"}');
            """
        )
        try database.write("SELECT powersync_clear(?)", [options.rawValue])
        for table in ["items", "todos", "ps_crud", "ps_updated_rows"] {
            #expect(try database.integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
        #expect(try database.queue.read { try LocalWriteGate.target($0) } == nil)
    }

    /// SQLite reports no change of a table without row ids.
    @Test func clearedRawTablesAreAnnounced() throws {
        let users = ClientRawTable(name: "users", structure: .init(tableName: "users"), clear: "DELETE FROM users")
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [users]))
        try database.run("CREATE TABLE users (id TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO users VALUES ('1')")
        let observer = ChangeCounter(tables: ["users"])
        database.queue.add(transactionObserver: observer)
        try database.queue.write { try LocalData.clear($0, []) }
        #expect(try database.rows("SELECT id FROM users").isEmpty)
        #expect(observer.changes > 0)
    }

    @Test func softClearKeepsOperations() throws {
        try database.queue.write { try LocalData.clear($0, .soft) }
        #expect(try database.rows("SELECT last_op, last_applied_op FROM ps_buckets") == ["5|0"])
        #expect(try count("ps_oplog") == 1)
        #expect(try count("items") == 0)
        #expect(try count("ps_sync_state") == 0)
    }

    @Test func softClearAndResyncNeedAnIdleClient() throws {
        try database.queue.write { try SyncActivity.setActive($0, true) }
        let words = "Cannot clear or trigger resync while a sync iteration is active."
        for call in ["powersync_clear(2)", "powersync_trigger_resync(0)"] {
            expectDatabaseError(3091, words) { try database.write("SELECT \(call)") }
        }
        #expect(try count("items") == 2)
        try database.queue.write { try SyncActivity.setActive($0, false) }
        try database.write("SELECT powersync_clear(2)")
    }

    @Test func resyncKeepsRowsAndMayForgetTheStatus() throws {
        try database.write("SELECT powersync_trigger_resync(0)")
        #expect(try database.rows("SELECT last_applied_op FROM ps_buckets") == ["0"])
        #expect(try count("ps_sync_state") == 2)
        try database.write("SELECT powersync_trigger_resync(1)")
        #expect(try count("ps_sync_state") == 0)
        #expect(try database.rows("SELECT last_synced_at FROM ps_stream_subscriptions") == [""])
        #expect(try count("items") == 2)
    }

    @Test(arguments: ["powersync_clear(0)", "powersync_clear(2)", "powersync_trigger_resync(1)"])
    func whatWasForgottenIsReportedOnce(call: String) throws {
        #expect(try database.queue.read { SyncStateReset.take($0) } == false)
        try database.write("SELECT \(call)")
        #expect(try database.queue.read { SyncStateReset.take($0) })
        #expect(try database.queue.read { SyncStateReset.take($0) } == false)
    }

    @Test(arguments: ["powersync_clear(0)", "powersync_trigger_resync(0)"])
    func transactionIsRequired(call: String) throws {
        expectDatabaseError(21, "This function may only be called in transactions.") {
            try database.run("SELECT \(call)")
        }
    }
}

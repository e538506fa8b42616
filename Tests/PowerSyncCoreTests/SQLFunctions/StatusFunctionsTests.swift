import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// `powersync_offline_sync_status` and `powersync_update_hooks` (docs/database.md "SQL functions").
struct StatusFunctionsTests {
    private func changes(_ database: LocalTestDatabase) throws -> [String?] {
        try database.texts("SELECT powersync_update_hooks('get')")
    }

    @Test func statusOfAFreshDatabase() throws {
        let database = try LocalTestDatabase()
        #expect(
            try database.texts("SELECT powersync_offline_sync_status()") == [
                #"{"connected":false,"connecting":false,"priority_status":[],"downloading":null,"streams":[]}"#
            ]
        )
    }

    @Test func statusTellsPrioritiesAndStreams() throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try SyncState.record(db, Priority(1), at: SyncInstant(microseconds: 5))
            try SyncState.record(db, Priority(2), at: SyncInstant(microseconds: 1_767_225_600_000_000))
            try db.execute(
                sql: """
                    INSERT INTO ps_stream_subscriptions
                      (stream_name, active, local_priority, local_params, ttl, expires_at)
                    VALUES ('s', 1, 1, '{"a":1}', 60, 1767312000000000), ('t', 0, NULL, 'null', NULL, NULL)
                    """
            )
        }
        let expected = """
            {"connected":false,"connecting":false,"priority_status":[{"priority":2,\
            "last_synced_at":1767225600000000,"has_synced":true}],"downloading":null,"streams":[{"name":"s",\
            "parameters":{"a":1},"priority":null,"active":true,"is_default":false,"has_explicit_subscription":true,\
            "expires_at":1767312000000000,"last_synced_at":null,"progress":{"total":0,"downloaded":0}},{"name":"t",\
            "parameters":null,"priority":null,"active":false,"is_default":false,"has_explicit_subscription":false,\
            "expires_at":null,"last_synced_at":null,"progress":{"total":0,"downloaded":0}}]}
            """
        #expect(try database.texts("SELECT powersync_offline_sync_status()") == [expected])
    }

    @Test func readOnlyConnectionsTellTheStatusToo() throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(path: folder.path("a.db"), configuration: Configuration().forPowerSync())
        try pool.write { try SystemTables.migrate($0) }
        let status = try pool.read { try String.fetchOne($0, sql: "SELECT powersync_offline_sync_status()") }
        #expect(status?.isEmpty == false)
    }

    @Test func tablesAreReportedOnceAfterTheCommit() throws {
        let database = try LocalTestDatabase()
        try database.run("CREATE TABLE own (a); SELECT powersync_update_hooks('install')")
        #expect(try changes(database) == ["[]"])
        try database.queue.write { db in
            for number in 0..<1000 {
                try db.execute(sql: "INSERT INTO own VALUES (?)", arguments: [number])
            }
            #expect(try String.fetchOne(db, sql: "SELECT powersync_update_hooks('get')") == "[]")
        }
        #expect(try changes(database) == [#"["own"]"#])
        #expect(try changes(database) == ["[]"])
        try database.run("BEGIN; INSERT INTO own VALUES (1); ROLLBACK")
        #expect(try changes(database) == ["[]"])
        try database.run("INSERT INTO ps_kv VALUES ('other', 1)")
        #expect(try changes(database) == [#"["ps_kv"]"#])
    }

    @Test func writesThroughViewsReportWhatTheirTriggersWrite() throws {
        let database = try LocalTestDatabase()
        try database.run("SELECT powersync_update_hooks('install')")
        try database.write("INSERT INTO items (id, col) VALUES ('1', 'a')")
        #expect(try changes(database) == [#"["ps_crud","ps_data__items","ps_kv","ps_tx"]"#])
        // The write gate is closed already.
        try database.write("UPDATE items SET col = 'b'")
        #expect(try changes(database) == [#"["ps_crud","ps_data__items","ps_tx"]"#])
    }

    @Test func aTableIsReportedOnlyForTheTransactionThatChangesIt() throws {
        let database = try LocalTestDatabase()
        try database.run("CREATE TABLE a (x); CREATE TABLE b (x); SELECT powersync_update_hooks('install')")
        try database.run("INSERT INTO a VALUES (1)")
        #expect(try changes(database) == [#"["a"]"#])
        try database.run("INSERT INTO b VALUES (1)")
        #expect(try changes(database) == [#"["b"]"#])
    }

    @Test func aSecondInstallationForgetsNothing() throws {
        let database = try LocalTestDatabase()
        try database.run("CREATE TABLE own (a); SELECT powersync_update_hooks('install')")
        try database.run("INSERT INTO own VALUES (1); SELECT powersync_update_hooks('install')")
        #expect(try changes(database) == [#"["own"]"#])
    }

    /// Nobody sees what becomes of rows without rowid.
    @Test func clearingARawTableReportsAllTables() throws {
        let table = ClientRawTable(name: "users", structure: .init(tableName: "users"), clear: "DELETE FROM users")
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [table]))
        try database.run(
            """
            CREATE TABLE users (id TEXT PRIMARY KEY) WITHOUT ROWID;
            INSERT INTO users VALUES ('1');
            SELECT powersync_update_hooks('install');
            """
        )
        try database.write("SELECT powersync_clear(0)")
        let names = try changes(database).first ?? nil
        #expect(names?.contains(#""users""#) == true)
    }

    @Test func clearingReportsTables() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items (id, col) VALUES ('1', 'a'), ('2', 'b')")
        try database.run("SELECT powersync_update_hooks('install')")
        try database.write("SELECT powersync_clear(1)")
        let names = try changes(database).first ?? nil
        #expect(names?.contains("ps_data__items") == true)
    }

    /// Handles events in a transaction.
    private func handle(_ events: [SyncEvent], _ engine: SyncEngine, _ database: LocalTestDatabase) throws -> SyncEngine
    {
        var engine = engine
        try database.queue.write { db in
            _ = try engine.handle(events, in: db, now: SyncInstant(microseconds: 1))
        }
        return engine
    }

    @Test func tablesOfTheEngineAreReported() throws {
        let database = try LocalTestDatabase()
        var engine = try handle([.start(SyncStart())], SyncEngine(), database)
        engine = try handle([.line(.checkpoint(1, [.bucket("a")]))], engine, database)
        try database.run("SELECT powersync_update_hooks('install')")
        engine = try handle([.line(.ops("a", .put(1, "x")))], engine, database)
        let stored = try changes(database).first ?? nil
        #expect(stored?.contains(#""ps_buckets""#) == true)
        #expect(stored?.contains(#""ps_oplog""#) == true)
        engine = try handle([.line(.done)], engine, database)
        let completed = try changes(database).first ?? nil
        #expect(completed?.contains(#""ps_data__items""#) == true)
        // Only positions move.
        engine = try handle([.line(.diff(2)), .line(.done)], engine, database)
        let moved = try changes(database).first ?? nil
        #expect(moved?.contains(#""ps_buckets""#) == true)
    }

    @Test func tablesBehindTriggersOfTheAppAreReported() throws {
        let database = try LocalTestDatabase()
        try database.run(
            """
            CREATE TABLE mirror (id TEXT);
            CREATE TRIGGER copy AFTER INSERT ON ps_data__items BEGIN INSERT INTO mirror VALUES (NEW.id); END;
            """
        )
        var engine = try handle([.start(SyncStart())], SyncEngine(), database)
        engine = try handle([.line(.checkpoint(1, [.bucket("a")])), .line(.ops("a", .put(1, "x")))], engine, database)
        try database.run("SELECT powersync_update_hooks('install')")
        _ = try handle([.line(.done)], engine, database)
        let names = try changes(database).first ?? nil
        #expect(names?.contains(#""ps_data__items""#) == true)
        #expect(names?.contains(#""mirror""#) == true)
    }

    @Test func otherOperationsAreUnknown() throws {
        let database = try LocalTestDatabase()
        expectDatabaseError(21, "Unknown operation") { try database.run("SELECT powersync_update_hooks('remove')") }
        expectDatabaseError(21, "install") { try database.run("SELECT powersync_update_hooks('get')") }
    }
}

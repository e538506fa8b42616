import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

@Suite struct SystemTablesTests {
    private func makeQueue() throws -> DatabaseQueue {
        try DatabaseQueue(configuration: Configuration().forPowerSync())
    }

    @Test func freshFileHasAllVersionsAndTables() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        #expect(try database.rows("SELECT id FROM ps_migration ORDER BY id") == (1...14).map(String.init))
        #expect(try database.rows("SELECT id FROM ps_migration WHERE down_migrations IS NULL") == ["1"])
        #expect(try database.rows("SELECT * FROM ps_tx") == ["1||1"])
        #expect(try database.integer("PRAGMA user_version") == 1)
        let columns = try database.texts("SELECT name FROM pragma_table_info('ps_buckets') ORDER BY cid")
        #expect(
            columns == [
                "id", "name", "last_applied_op", "last_op", "add_checksum", "op_checksum", "pending_delete",
                "count_at_last", "count_since_last", "downloaded_size",
            ]
        )
        let id = try #require(try database.texts("SELECT value FROM ps_kv WHERE key = 'client_id'").first ?? nil)
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }

    @Test func payloadsAreListsOfSQLTexts() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        let steps = try database.integer(
            """
            SELECT count(*) FROM ps_migration, json_each(down_migrations) AS step
            WHERE json_type(step.value, '$.sql') = 'text'
            """
        )
        #expect(steps == Int64((1...14).map { DownMigrations.statements(from: $0).count }.reduce(0, +)))
    }

    @Test func secondMigrationChangesNothing() throws {
        let database = try LocalTestDatabase()
        let objects = try database.objects()
        let version = try database.schemaVersion()
        let rows = try database.rows("SELECT * FROM ps_kv")
        try database.queue.write { try SystemTables.migrate($0) }
        #expect(try database.objects() == objects)
        #expect(try database.schemaVersion() == version)
        #expect(try database.rows("SELECT * FROM ps_kv") == rows)
    }

    @Test func aUserVersionOfTheApplicationStays() throws {
        let database = try LocalTestDatabase()
        try database.run("PRAGMA user_version = 7")
        try database.queue.write { try SystemTables.migrate($0) }
        #expect(try database.integer("PRAGMA user_version") == 7)
    }

    @Test func migrationNeedsTransaction() throws {
        let queue = try makeQueue()
        queue.inDatabase { db in
            #expect {
                try SystemTables.migrate(db)
            } throws: {
                ($0 as? LocalDatabaseError)?.code == .notInTransaction
            }
            expectDatabaseError(21, "This function may only be called in transactions.") {
                try db.execute(sql: "SELECT powersync_init()")
            }
        }
    }

    @Test func foreignTableOfVersionsIsReportedAndNothingIsCreated() throws {
        let queue = try makeQueue()
        try queue.write { try $0.execute(sql: "CREATE TABLE ps_migration(x)") }
        expectDatabaseError(1, "no such column: id") {
            try queue.write { try SystemTables.migrate($0) }
        }
        #expect(try queue.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master") } == ["ps_migration"])
    }

    @Test func otherTypesInTableOfVersionsAreReported() throws {
        let queue = try makeQueue()
        try queue.write {
            try $0.execute(
                sql: "CREATE TABLE ps_migration(id, down_migrations); INSERT INTO ps_migration VALUES ('x', 1)"
            )
        }
        #expect {
            try queue.write { try SystemTables.migrate($0) }
        } throws: {
            let error = $0 as? LocalDatabaseError
            return error?.code == .corruptLocalData && error?.message.contains("ps_migration.id") == true
        }
    }

    /// The tables are there, but nothing says of which version.
    @Test func tablesWithoutVersionAreReportedAndLeftAlone() throws {
        let queue = try makeQueue()
        try queue.write { try $0.execute(sql: "CREATE TABLE ps_crud(x); INSERT INTO ps_crud VALUES (1)") }
        expectDatabaseError(1, "ps_crud already exists") {
            try queue.write { try SystemTables.migrate($0) }
        }
        #expect(try queue.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master") } == ["ps_crud"])
    }

    /// A file of the current version costs a few small queries and no change.
    @Test func currentVersionIsOnlyLookedAt() throws {
        let database = try LocalTestDatabase()
        let statements = try database.queue.write { db in
            let log = StatementLog()
            db.trace { log.append("\($0)") }
            try SystemTables.migrate(db)
            db.trace()
            return log.statements
        }
        #expect(statements.count <= 4, "\(statements)")
        #expect(statements.allSatisfy { $0.hasPrefix("SELECT") || $0.hasPrefix("PRAGMA") }, "\(statements)")
    }

    @Test func newerVersionWithoutWayBackIsAnError() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_migration(id, down_migrations) VALUES (15, NULL)")
        #expect {
            try database.queue.write { try SystemTables.migrate($0) }
        } throws: { error in
            let error = error as? LocalDatabaseError
            return error?.code == .downMigrationFailed && error?.resultCode == 4
                && error?.message.contains("version not updated from 15") == true
                && error?.message.contains("version 14") == true
        }
        expectDatabaseError(4, "version not updated") {
            try database.write("SELECT powersync_init()")
        }
        #expect(try database.rows("SELECT id FROM ps_migration WHERE id > 13 ORDER BY id") == ["14", "15"])
        #expect(try database.objects() == LocalTestDatabase().objects())
    }

    /// Statements may come with other members, and other things than statements are ignored.
    @Test func wayBackIgnoresWhatIsNoText() throws {
        let database = try LocalTestDatabase()
        let payload = #"[{"sql":5},{"params":[]},{},{"sql":null},{"sql":"DELETE FROM ps_migration WHERE id = 15"}]"#
        try database.write("INSERT INTO ps_migration(id, down_migrations) VALUES (15, ?)", [payload])
        try database.queue.write { try SystemTables.migrate($0) }
        #expect(try database.integer("SELECT max(id) FROM ps_migration") == 14)
    }

    @Test func newerVersionGoesBackByItsOwnStatements() throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            CREATE TABLE ps_future(id);
            INSERT INTO ps_migration(id, down_migrations) VALUES
              (15, '[{"sql":"DELETE FROM ps_migration WHERE id >= 15"}]'),
              (16, '[{"sql":"DROP TABLE ps_future","params":[]},{"sql":"DELETE FROM ps_migration WHERE id >= 16"}]');
            SELECT powersync_init();
            """
        )
        #expect(try database.integer("SELECT max(id) FROM ps_migration") == 14)
        #expect(try database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ps_future'") == 0)
    }

    @Test(arguments: ["not json", #"["text"]"#, #"[{"sql":"DROP TABLE missing"}]"#])
    func failingWayBackIsReportedWithItsVersion(payload: String) throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_migration(id, down_migrations) VALUES (15, ?)", [payload])
        #expect {
            try database.queue.write { try SystemTables.migrate($0) }
        } throws: { error in
            let error = error as? LocalDatabaseError
            return error?.code == .downMigrationFailed && error?.message == "Down migration failed from 15 to 14"
                && error?.underlyingError != nil
        }
    }

    @Test func missingOplogIndexesAreCreatedAgain() throws {
        let database = try LocalTestDatabase()
        let objects = try database.objects()
        try database.write("DROP INDEX ps_oplog_row; DROP INDEX ps_oplog_key")
        // Until the first sync is complete, they are left to the sync engine.
        try database.write("INSERT INTO ps_sync_state VALUES (1, 1)")
        try database.queue.write { try SystemTables.migrate($0) }
        #expect(try database.objects().count == objects.count - 2)
        try database.write("INSERT INTO ps_sync_state VALUES (2147483647, 1)")
        try database.queue.write { try SystemTables.migrate($0) }
        #expect(try database.objects() == objects)
    }

    /// Functions must be registered before anything is migrated.
    @Test func alteringTablesNeedsTheModules() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        let queue = try DatabaseQueue(path: path, configuration: Configuration().forPowerSync())
        try queue.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
        try queue.close()
        let plain = try DatabaseQueue(path: path)
        expectDatabaseError(1, "no such table: main.powersync_crud") {
            try plain.write { try $0.execute(sql: "ALTER TABLE ps_untyped RENAME TO other") }
        }
    }
}

/// The statements that a connection ran.
///
/// `@unchecked Sendable`: filled and read while one connection is held.
private final class StatementLog: @unchecked Sendable {
    private(set) var statements: [String] = []

    func append(_ sql: String) {
        statements.append(sql)
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// A file with direct tables in the hands of a version of this library that does not have them.
///
/// Its statements are those that its code runs: it knows tables by the prefix `ps_data_`, views by the comment at their end, and rows of
/// types without either go to `ps_untyped`.
@Suite struct EarlierVersionTests {
    private static let table = ClientTable(
        name: "items",
        columns: [.text("t"), .integer("i")],
        indexes: [ClientIndex(name: "by_t", columns: [.init(name: "t")])],
        options: .init(),
        isDirect: true
    )

    private func synced() throws -> SyncScenario {
        let scenario = try SyncScenario.started(.oneByOne, Self.table)
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "1", data: #"{"t":"a","i":1}"#), .put(2, "2", data: #"{"t":"b","i":2}"#)),
            .done
        )
        try scenario.send(.stop)
        return scenario
    }

    private func content(_ database: LocalTestDatabase) throws -> [String] {
        try database.rows("SELECT * FROM items ORDER BY id")
            + database.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    }

    /// Its schema is applied in a transaction, which SQLite ends when the view is to take the place of the table.
    @Test func whereTheTableIsAViewTheFileIsRefusedAndStaysAsItIs() throws {
        let scenario = try synced()
        let before = try content(scenario.database)
        expectDatabaseError(1, "use DROP TABLE to delete table items") {
            try scenario.database.write(
                """
                CREATE TABLE "ps_data__items"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
                INSERT INTO "ps_data__items"(id, data) SELECT id, data FROM ps_untyped WHERE type = 'items';
                DELETE FROM ps_untyped WHERE type = 'items';
                CREATE INDEX "ps_data__items__by_t" ON "ps_data__items"(CAST(json_extract(data, '$.t') as text));
                DROP VIEW IF EXISTS "items";
                """
            )
        }
        #expect(try content(scenario.database) == before)
        try scenario.database.apply(Self.table)
        #expect(try content(scenario.database) == before)
    }

    /// Nothing in the file is one of its objects; rows that come go past the table, and deletions of them, too.
    @Test func whereTheTableIsNotDeclaredItIsLeftAloneAndWhatCameMeanwhileIsTakenIn() throws {
        let scenario = try synced()
        let before = try scenario.database.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")
        let known = """
            SELECT name FROM sqlite_master WHERE (type IN ('table', 'index') AND name GLOB 'ps_data_*')
                OR (type = 'view' AND sql GLOB '*-- powersync-auto-generated')
                OR (type = 'trigger' AND name GLOB 'ps_view_*')
            """
        #expect(try scenario.database.rows(known).isEmpty)
        // Row 1 goes, 2 changes, 3 comes.
        try scenario.database.write(
            """
            DELETE FROM ps_oplog WHERE row_id = '1';
            DELETE FROM ps_untyped WHERE id = '1' AND type = 'items';
            UPDATE ps_oplog SET op_id = 4, data = '{"t":"new","i":"3"}' WHERE row_id = '2';
            INSERT INTO ps_oplog (bucket, op_id, key, row_type, row_id, data, hash)
                SELECT bucket, 5, 'items/3/', 'items', '3', '{"t":"c"}', 0 FROM ps_oplog;
            REPLACE INTO ps_untyped (id, data, type) VALUES ('2', '{"t":"new","i":"3"}', 'items'), ('3', '{"t":"c"}', 'items');
            UPDATE ps_buckets SET last_op = 5, last_applied_op = 5;
            """
        )
        try scenario.database.apply(Self.table)
        #expect(try scenario.database.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name") == before)
        #expect(try scenario.database.rows("SELECT * FROM items ORDER BY id") == ["1|a|1", "2|new|3", "3|c|"])
        #expect(try scenario.database.rows("SELECT * FROM ps_untyped").isEmpty)
        // What the page says to do about the row that is gone.
        try scenario.database.queue.write { try LocalData.clear($0, .soft) }
        scenario.restart()
        try scenario.start()
        try scenario.receive(.checkpoint(5, [.bucket("a")]), .done)
        #expect(try scenario.database.rows("SELECT * FROM items ORDER BY id") == ["2|new|3", "3|c|"])
        #expect(try scenario.database.entries().isEmpty)
    }
}

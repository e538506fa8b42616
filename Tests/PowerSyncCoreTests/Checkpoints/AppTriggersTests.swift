import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Triggers of the app on data tables follow synced rows.
@Suite(.timeLimit(.minutes(1))) struct AppTriggersTests {
    private static func put(_ opID: Int64, _ id: String, _ text: String) -> SyncLine {
        .ops("a", .put(opID, id, data: "{\"col\":\"\(text)\"}"))
    }

    @Test
    func fullTextIndexThatThreeTriggersKeepHasWhatTheTableHas() throws {
        let scenario = try SyncScenario()
        try scenario.database.run(
            """
            CREATE VIRTUAL TABLE search USING fts5(id UNINDEXED, col);
            CREATE TRIGGER search_insert AFTER INSERT ON ps_data__items BEGIN
                INSERT INTO search (rowid, id, col) VALUES (NEW.rowid, NEW.id, NEW.data ->> 'col');
            END;
            CREATE TRIGGER search_update AFTER UPDATE ON ps_data__items BEGIN
                UPDATE search SET col = NEW.data ->> 'col' WHERE rowid = NEW.rowid;
            END;
            CREATE TRIGGER search_delete AFTER DELETE ON ps_data__items BEGIN
                DELETE FROM search WHERE rowid = OLD.rowid;
            END;
            """
        )
        try scenario.start()
        func found() throws -> [String] { try scenario.database.rows("SELECT id, col FROM search ORDER BY id") }
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            Self.put(1, "x", "alpha"),
            Self.put(2, "y", "alpha"),
            .done
        )
        #expect(try found() == ["x|alpha", "y|alpha"])
        try scenario.receive(.diff(3), Self.put(3, "x", "beta"), .done)
        #expect(try found() == ["x|beta", "y|alpha"])
        #expect(try scenario.database.rows("SELECT id FROM search WHERE search MATCH 'alpha'") == ["y"])
        try scenario.receive(.diff(4), .ops("a", .remove(4, "x")), .done)
        #expect(try found() == ["y|alpha"])
        try scenario.database.write("UPDATE items SET col = 'gamma'")
        #expect(try found() == ["y|gamma"])
    }

    @Test(arguments: ["OR REPLACE", "OR IGNORE"])
    func triggersKeepTheirOwnConflictClauses(_ clause: String) throws {
        let scenario = try SyncScenario()
        try scenario.database.run(
            """
            CREATE TABLE words (word TEXT PRIMARY KEY);
            CREATE TRIGGER words_insert AFTER INSERT ON ps_data__items BEGIN
                INSERT \(clause) INTO words VALUES (NEW.data ->> 'col');
            END;
            CREATE TRIGGER words_update AFTER UPDATE OF data ON ps_data__items BEGIN
                INSERT \(clause) INTO words VALUES (NEW.data ->> 'col');
            END;
            """
        )
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            Self.put(1, "x", "alpha"),
            Self.put(2, "y", "alpha"),
            .done
        )
        try scenario.receive(.diff(4), Self.put(3, "x", "beta"), Self.put(4, "y", "beta"), .done)
        #expect(try scenario.database.rows("SELECT word FROM words ORDER BY word") == ["alpha", "beta"])
        #expect(scenario.status.setAside.isEmpty)
    }

    @Test(arguments: ["OR REPLACE", "OR IGNORE"])
    func triggersOfRawTablesKeepThemToo(_ clause: String) throws {
        let users = ClientRawTable(name: "users", structure: .init(tableName: "local_users"))
        let scenario = try SyncScenario(rawTables: [users])
        try scenario.database.run(
            """
            CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE words (word TEXT PRIMARY KEY);
            CREATE TRIGGER words_insert AFTER INSERT ON local_users BEGIN
                INSERT \(clause) INTO words VALUES (NEW.name);
            END;
            CREATE TRIGGER words_update AFTER UPDATE ON local_users BEGIN
                INSERT \(clause) INTO words VALUES (NEW.name);
            END;
            """
        )
        try scenario.start()
        func put(_ opID: Int64, _ id: String, _ name: String) -> SyncLine {
            .ops("a", .put(opID, id, type: "users", data: "{\"name\":\"\(name)\"}"))
        }
        try scenario.receive(.checkpoint(2, [.bucket("a")]), put(1, "x", "alpha"), put(2, "y", "alpha"), .done)
        try scenario.receive(.diff(4), put(3, "x", "beta"), put(4, "y", "beta"), .done)
        #expect(try scenario.database.rows("SELECT * FROM local_users ORDER BY id") == ["x|beta", "y|beta"])
        #expect(try scenario.database.rows("SELECT word FROM words ORDER BY word") == ["alpha", "beta"])
        #expect(scenario.status.setAside.isEmpty)
    }

    @Test(arguments: [false, true])
    func withTriggersForInsertionsOnlyAnUpdateIsAnInsertion(hasUniqueIndex: Bool) throws {
        let scenario = try SyncScenario()
        try scenario.database.run(
            """
            CREATE TABLE log (col TEXT);
            CREATE TRIGGER log_insert AFTER INSERT ON ps_data__items BEGIN
                INSERT INTO log VALUES (NEW.data ->> 'col');
            END;
            CREATE TRIGGER log_id AFTER UPDATE OF id ON ps_data__items BEGIN SELECT 1; END;
            """
        )
        if hasUniqueIndex { try scenario.database.run("CREATE UNIQUE INDEX one ON ps_data__items (data ->> 'col')") }
        try scenario.start()
        try scenario.receive(.checkpoint(2, [.bucket("a")]), Self.put(1, "x", "alpha"), Self.put(2, "y", "beta"), .done)
        try scenario.receive(.diff(3), Self.put(3, "x", "gamma"), .done)
        #expect(try scenario.database.rows("SELECT col FROM log") == ["alpha", "beta", "gamma"])
        guard hasUniqueIndex else { return }
        try scenario.receive(.diff(4), Self.put(4, "x", "beta"), .done)
        #expect(try scenario.items == [#"x|{"col":"gamma"}"#, #"y|{"col":"beta"}"#])
        #expect(scenario.status.setAside.rows.map(\.id) == ["x"])
    }
}

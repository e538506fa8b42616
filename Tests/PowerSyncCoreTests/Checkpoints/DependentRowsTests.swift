import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What foreign key actions do to synced rows while rows are published.
@Suite(.timeLimit(.minutes(1))) struct DependentRowsTests {
    private func scenario(parents: String, children: String, action: String = "CASCADE") throws -> SyncScenario {
        let parent = ClientRawTable(
            name: parents,
            put: .init(
                sql: "INSERT OR REPLACE INTO local_parents (id, name, parent) VALUES (?, ?, ?)",
                parameters: [.id, .column("name"), .column("parent")]
            ),
            delete: .init(sql: "DELETE FROM local_parents WHERE id = ?", parameters: [.id])
        )
        let child = ClientRawTable(name: children, structure: .init(tableName: "local_children"))
        let scenario = try SyncScenario(rawTables: [parent, child])
        try scenario.database.run(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE local_parents (
                id TEXT PRIMARY KEY,
                name TEXT,
                parent TEXT REFERENCES local_parents ON DELETE CASCADE
            );
            CREATE TABLE local_children (
                id TEXT PRIMARY KEY,
                parent TEXT REFERENCES local_parents (id) ON DELETE \(action)
            );
            """
        )
        try scenario.start()
        return scenario
    }

    private func children(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id, parent FROM local_children ORDER BY id")
    }

    private func setAside(_ scenario: SyncScenario) -> [String] {
        scenario.status.setAside.rows.map { "\($0.table)/\($0.id)" }
    }

    @Test(
        arguments: [("a_parents", "b_children"), ("b_parents", "a_children")],
        ["CASCADE", "SET NULL"]
    )
    func statementThatDeletesARowToPutItAnewTakesNoOtherSyncedRowsWithIt(
        _ names: (String, String),
        action: String
    ) throws {
        let (parents, children) = names
        let scenario = try scenario(parents: parents, children: children, action: action)
        try scenario.receive(
            .checkpoint(5, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "c1", type: children, data: #"{"parent":"p"}"#),
                .put(2, "c2", type: children, data: #"{"parent":"q"}"#),
                .put(3, "p", type: parents, data: #"{"name":"a"}"#),
                .put(4, "q", type: parents, data: #"{"name":"a","parent":"p"}"#),
                .put(5, "r", type: parents, data: #"{"name":"a","parent":"q"}"#)
            ),
            .done
        )
        #expect(try self.children(scenario) == ["c1|p", "c2|q"])
        try scenario.database.write("INSERT INTO local_children VALUES ('mine', 'r')")
        try scenario.receive(
            .diff(7),
            .ops(
                "a",
                .put(6, "p", type: parents, data: #"{"name":"b"}"#),
                .put(7, "c1", type: children, data: #"{"parent":"q"}"#)
            ),
            .done
        )
        #expect(
            try scenario.database.rows("SELECT * FROM local_parents ORDER BY id") == ["p|b|", "q|a|p", "r|a|q"]
        )
        #expect(try self.children(scenario).prefix(2) == ["c1|q", "c2|q"])
        #expect(setAside(scenario).isEmpty)
        #expect(try scenario.updatedRows.isEmpty)
    }

    @Test(
        arguments: ["CASCADE", "SET NULL", "NO ACTION", "RESTRICT"]
    )
    func rowsThatGoWithTheirParentComeBackWithIt(action: String) throws {
        let scenario = try scenario(parents: "a_parents", children: "b_children", action: action)
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "p", type: "a_parents", data: #"{"name":"a"}"#),
                .put(2, "c", type: "b_children", data: #"{"parent":"p"}"#),
                .put(3, "gone", type: "b_children", data: #"{"parent":"p"}"#)
            ),
            .done
        )
        try scenario.receive(
            .diff(5),
            .ops("a", .remove(4, "p", type: "a_parents"), .remove(5, "gone", type: "b_children")),
            .done
        )
        #expect(try scenario.database.rows("SELECT id FROM local_parents").isEmpty)
        #expect(try children(scenario) == (action == "SET NULL" ? ["c|"] : []))
        #expect(setAside(scenario) == ["b_children/c"])
        #expect(
            scenario.status.setAside.rows.first?.reason
                == "FOREIGN KEY constraint failed: parent of local_children refers to local_parents"
        )
        try scenario.receive(.diff(6), .ops("a", .put(6, "p", type: "a_parents", data: #"{"name":"b"}"#)), .done)
        #expect(try children(scenario) == ["c|p"])
        #expect(setAside(scenario).isEmpty)
        #expect(try scenario.updatedRows.isEmpty)
    }

    @Test
    func rowMovedToAParentThatIsNotThereStaysWhereItWasANewOneIsNotShown() throws {
        let scenario = try scenario(parents: "a_parents", children: "b_children", action: "NO ACTION")
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "p", type: "a_parents", data: #"{"name":"a"}"#),
                .put(2, "c", type: "b_children", data: #"{"parent":"p"}"#),
                .put(3, "new", type: "b_children", data: #"{"parent":"q"}"#)
            ),
            .done
        )
        #expect(try children(scenario) == ["c|p"])
        try scenario.receive(.diff(4), .ops("a", .put(4, "c", type: "b_children", data: #"{"parent":"q"}"#)), .done)
        #expect(try children(scenario) == ["c|p"])
        #expect(setAside(scenario) == ["b_children/c", "b_children/new"])
        try scenario.receive(.diff(5), .ops("a", .put(5, "q", type: "a_parents", data: #"{"name":"a"}"#)), .done)
        #expect(try children(scenario) == ["c|q", "new|q"])
        #expect(setAside(scenario).isEmpty)
    }

    @Test
    func rowThatRowsOfTheAppReferToIsNotDeletedAsLongAsTheyDo() throws {
        let scenario = try scenario(parents: "a_parents", children: "b_children")
        try scenario.database.run("CREATE TABLE notes (parent TEXT REFERENCES local_parents (id))")
        try scenario.receive(
            .checkpoint(1, [.bucket("a")]),
            .ops("a", .put(1, "p", type: "a_parents", data: #"{"name":"a"}"#)),
            .done
        )
        try scenario.database.write("INSERT INTO notes VALUES ('p')")
        try scenario.receive(
            .diff(3),
            .ops("a", .remove(2, "p", type: "a_parents"), .put(3, "x")),
            .done
        )
        #expect(try scenario.database.rows("SELECT id FROM local_parents") == ["p"])
        #expect(try scenario.itemIDs == ["x"])
        #expect(setAside(scenario) == ["a_parents/p"])
        try scenario.database.write("DELETE FROM notes")
        try scenario.receive(.diff(3), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_parents").isEmpty)
        #expect(setAside(scenario).isEmpty)
    }

    @Test(
        arguments: [
            // Another column than the id.
            "CREATE TABLE notes (id TEXT, name TEXT REFERENCES local_parents (name)); INSERT INTO notes VALUES ('n', 'a')",
            // A row of the app that goes with the synced one.
            """
            CREATE TABLE books (id TEXT PRIMARY KEY, parent TEXT REFERENCES local_parents ON DELETE CASCADE);
            CREATE TABLE notes (id TEXT, book TEXT REFERENCES books);
            INSERT INTO books VALUES ('b', 'p'); INSERT INTO notes VALUES ('n', 'b')
            """,
            // A synced row that goes with the synced one.
            """
            CREATE TABLE notes (id TEXT, child TEXT REFERENCES local_children (id));
            INSERT INTO notes VALUES ('n', 'c')
            """,
            // A value of another type; a table that is not there has nothing to do with it.
            """
            CREATE TABLE books (code TEXT PRIMARY KEY, parent TEXT REFERENCES local_parents ON DELETE CASCADE);
            CREATE TABLE notes (id TEXT, code INTEGER REFERENCES books (code));
            CREATE TABLE others (id TEXT, gone TEXT REFERENCES gone (id));
            INSERT INTO books VALUES ('7', 'p'), ('07', NULL); INSERT INTO notes VALUES ('n', 7)
            """,
        ]
    )
    func rowThatARowOfTheAppNeedsIsNotDeletedWhateverTheAppsRowRefersTo(_ ddl: String) throws {
        let scenario = try scenario(parents: "a_parents", children: "b_children")
        try scenario.database.run("CREATE UNIQUE INDEX one_name ON local_parents (name)")
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "p", type: "a_parents", data: #"{"name":"a"}"#),
                .put(2, "c", type: "b_children", data: #"{"parent":"p"}"#)
            ),
            .done
        )
        try scenario.database.run(ddl)
        try scenario.receive(.diff(4), .ops("a", .remove(3, "p", type: "a_parents"), .put(4, "x")), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_parents") == ["p"])
        #expect(try scenario.itemIDs == ["x"])
        #expect(setAside(scenario) == ["a_parents/p"])
        #expect(try children(scenario) == ["c|p"])
        try scenario.database.run("DELETE FROM notes")
        try scenario.receive(.diff(4), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_parents").isEmpty)
        #expect(setAside(scenario) == ["b_children/c"])
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Direct tables whose columns, constraints or kinds change (docs/database.md "Direct tables").
@Suite struct DirectTableChangesTests {
    private static let columns: [ClientColumn] = [.text("t"), .integer("i")]

    /// Two downloaded rows and one that was written locally, with values that no column stands for.
    private func scenario(_ table: ClientTable) throws -> SyncScenario {
        let scenario = try SyncScenario.started(.oneByOne, table)
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", data: #"{"t":"a","i":1,"later":"x","r":"0.5"}"#),
                .put(2, "2", data: #"{"t":"b","i":2,"later":7}"#)
            ),
            .done
        )
        try scenario.database.write("UPDATE items SET t = 'local' WHERE id = '2'")
        if !table.isInsertOnly { try scenario.database.write("INSERT INTO items (id, t) VALUES ('3', 'new')") }
        return scenario
    }

    private func rows(_ database: LocalTestDatabase, _ columns: String = "*") throws -> [String] {
        try database.rows("SELECT \(columns) FROM items ORDER BY id")
    }

    /// As if everything was uploaded.
    private func openGate(_ scenario: SyncScenario) throws {
        try scenario.database.write(
            "DELETE FROM ps_crud; DELETE FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
        )
    }

    private var view: ClientTable { .items(Self.columns) }

    // MARK: - Columns

    @Test func laterColumnHasItsSyncedValues() throws {
        let scenario = try scenario(.direct(Self.columns))
        let queue = try scenario.database.entries()
        try scenario.database.apply(.direct(Self.columns + [.text("later"), .real("r")]))
        #expect(try rows(scenario.database) == ["1|a|1|x|0.5", "2|local|2|7|", "3|new|||"])
        #expect(try scenario.database.entries() == queue)
        try scenario.database.write("UPDATE items SET later = 'y' WHERE id = '1'")
        #expect(try scenario.database.entries().last == #"{"op":"PATCH","id":"1","type":"items","data":{"later":"y"}}"#)
    }

    @Test func droppedColumnComesBackWithItsSyncedValues() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.apply(.direct([.text("t")]))
        #expect(try rows(scenario.database) == ["1|a", "2|local", "3|new"])
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == ["1|a|1", "2|local|2", "3|new|"])
    }

    @Test func renamedColumnKeepsItsValues() throws {
        let scenario = try scenario(.direct(Self.columns))
        let renamed: [ClientColumn] = [.init(name: "title", type: .text, formerName: "t"), .integer("i")]
        try scenario.database.apply(.direct(renamed))
        #expect(try rows(scenario.database, "id, title, i") == ["1|a|1", "2|local|2", "3|new|"])
        // The service has either name.
        try openGate(scenario)
        scenario.failIteration()
        try scenario.start()
        try scenario.receive(
            .checkpoint(4, [.bucket("a")]),
            .ops("a", .put(3, "1", data: #"{"t":"old name"}"#), .put(4, "2", data: #"{"title":"new name","t":"x"}"#)),
            .done
        )
        #expect(try rows(scenario.database, "id, title").prefix(2) == ["1|old name", "2|new name"])
    }

    @Test func columnOfAnotherTypeHasItsSyncedValues() throws {
        let scenario = try scenario(.direct([.text("t"), .integer("i"), .integer("r")]))
        #expect(try rows(scenario.database, "r") == ["0", "", ""])
        try scenario.database.apply(.direct([.text("t"), .text("i"), .real("r")]))
        #expect(
            try rows(scenario.database, "typeof(i), i, typeof(r), r") == [
                "text|1|real|0.5", "text|2|null|", "null||null|",
            ]
        )
    }

    @Test func constraintThatRowsDoNotFulfilSetsThemAside() throws {
        let scenario = try scenario(.direct(Self.columns))
        let queue = try scenario.database.entries()
        let unique = ClientTable.direct([.text("t"), .init(name: "i", type: .integer, constraints: ["CHECK (i <> 1)"])])
        try scenario.database.apply(unique)
        #expect(try rows(scenario.database, "id") == ["2", "3"])
        #expect(try scenario.database.entries() == queue)
        try scenario.database.apply(.direct(Self.columns))
        try openGate(scenario)
        try scenario.receive(.diff(2), .done)
        #expect(try rows(scenario.database) == ["1|a|1", "2|b|2"])
    }

    @Test func triggersFollowWhatIsUnique() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.apply(.direct([.init(name: "t", type: .text, constraints: ["UNIQUE"]), .integer("i")]))
        try scenario.database.write("DELETE FROM ps_crud; INSERT OR REPLACE INTO items (id, t) VALUES ('9', 'a')")
        #expect(
            try scenario.database.rows("SELECT data ->> 'op', data ->> 'id' FROM ps_crud ORDER BY 1") == [
                "DELETE|1", "PUT|9",
            ]
        )
    }

    @Test func indexesComeAndGo() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        let names =
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'items' AND sql IS NOT NULL ORDER BY name"
        try database.run("CREATE INDEX mine ON items (t)")
        var table = ClientTable.direct(Self.columns)
        table.indexes = [ClientIndex(name: "by_t", columns: [.init(name: "t")])]
        try database.apply(table)
        #expect(try database.texts(names) == ["mine", "powersync_items__by_t"])
        table.columns.append(.text("u"))
        try database.apply(table)
        #expect(try database.texts(names) == ["mine", "powersync_items__by_t"])
        try database.apply(.direct(table.columns))
        #expect(try database.texts(names) == ["mine"])
    }

    @Test func whatTheAppHasAddedIsMadeAgainAndSeesNothingOfTheMove() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.run(
            """
            CREATE TABLE log (id);
            CREATE TRIGGER mine AFTER INSERT ON items BEGIN INSERT INTO log VALUES (NEW.id); END;
            CREATE VIEW titles AS SELECT t FROM items;
            """
        )
        try scenario.database.apply(.direct(Self.columns + [.text("later")]))
        #expect(try scenario.database.integer("SELECT count(*) FROM log") == 0)
        #expect(try scenario.database.rows("SELECT t FROM titles ORDER BY t") == ["a", "local", "new"])
        try scenario.database.write("INSERT INTO items (id) VALUES ('4')")
        #expect(try scenario.database.rows("SELECT id FROM log") == ["4"])
    }

    @Test func tableThatTheAppHasAlteredIsAsDeclaredAgain() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.run("ALTER TABLE items ADD COLUMN later TEXT")
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == ["1|a|1", "2|local|2", "3|new|"])
    }

    @Test func whatTheAppHasAddedGoesWithTheColumnThatItNeeds() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.run(
            """
            CREATE TABLE log (value);
            CREATE INDEX by_i ON items (i);
            CREATE INDEX by_t ON items (t);
            CREATE TRIGGER logs_i AFTER UPDATE ON items BEGIN INSERT INTO log VALUES (NEW.i); END;
            CREATE TRIGGER logs_t AFTER UPDATE ON items BEGIN INSERT INTO log VALUES (NEW.t); END;
            """
        )
        try scenario.database.apply(.direct([.text("t")]))
        let added = "SELECT name FROM sqlite_master WHERE name GLOB 'by_*' OR name GLOB 'logs_*' ORDER BY name"
        #expect(try scenario.database.texts(added) == ["by_t", "logs_t"])
        try scenario.database.write("UPDATE items SET t = 'x' WHERE id = '1'")
        #expect(try scenario.database.rows("SELECT value FROM log") == ["x"])
    }

    @Test(arguments: ["ALTER TABLE items RENAME TO old", "DROP TABLE items"])
    func tableThatTheAppHasTakenAwayIsBackWithItsSyncedRows(_ sql: String) throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.run(sql)
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == ["1|a|1"])
        try openGate(scenario)
        try scenario.receive(.diff(2), .done)
        #expect(try rows(scenario.database) == ["1|a|1", "2|b|2"])
    }

    @Test func nullUnderTheNewNameIsNoFormerValue() throws {
        let columns: [ClientColumn] = [.init(name: "title", type: .text, formerName: "t")]
        let scenario = try SyncScenario.started(.oneByOne, .direct(columns))
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "1", data: #"{"title":null,"t":"x"}"#), .put(2, "2", data: #"{"t":"y","i":2}"#)),
            .done
        )
        #expect(try rows(scenario.database) == ["1|", "2|y"])
        try scenario.database.write("UPDATE items SET title = NULL WHERE id = '2'")
        try scenario.database.apply(.direct(columns + [.integer("i")]))
        #expect(try rows(scenario.database) == ["1||", "2||2"])
    }

    // MARK: - Kinds

    @Test func viewBecomesDirectAndBack() throws {
        let scenario = try scenario(view)
        let queue = try scenario.database.entries()
        let shown = try rows(scenario.database)
        let later = Self.columns + [.text("later")]
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == shown)
        try scenario.database.apply(.items(later))
        #expect(try rows(scenario.database) == ["1|a|1|x", "2|local|2|7", "3|new||"])
        try scenario.database.apply(.direct(later))
        #expect(try rows(scenario.database) == ["1|a|1|x", "2|local|2|7", "3|new||"])
        #expect(try scenario.database.entries() == queue)
        #expect(try scenario.database.rows("SELECT name FROM sqlite_master WHERE name GLOB 'ps_data_*'").isEmpty)
    }

    @Test func tableThatIsNotDeclaredKeepsItsRows() throws {
        let scenario = try scenario(.direct(Self.columns))
        let shown = try rows(scenario.database)
        try scenario.database.apply(ClientSchema())
        #expect(try scenario.database.rows("SELECT name FROM sqlite_master WHERE tbl_name = 'items'").isEmpty)
        #expect(try scenario.database.integer("SELECT count(*) FROM ps_untyped") == 3)
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == shown)
        #expect(try scenario.database.integer("SELECT count(*) FROM ps_untyped") == 0)
    }

    /// The local rows are not shown while the table is synced, and the synced ones not while it is local-only.
    @Test func syncedBecomesLocalOnlyAndBack() throws {
        let scenario = try scenario(.direct(Self.columns))
        let shown = try rows(scenario.database)
        let local = ClientTable.direct(Self.columns, .init(isLocalOnly: true))
        try scenario.database.apply(local)
        #expect(try rows(scenario.database).isEmpty)
        try scenario.database.write("INSERT INTO items VALUES ('l', 'mine', 9)")
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == shown)
        try scenario.database.apply(local)
        #expect(try rows(scenario.database) == ["l|mine|9"])
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == shown)
    }

    /// Whatever shows them, and however often the schema of the synced table is applied meanwhile.
    @Test(arguments: [false, true], [false, true])
    func localOnlyRowsAreKeptWhileTheTableIsSynced(_ isSyncedDirect: Bool, _ isLocalDirect: Bool) throws {
        func table(_ isDirect: Bool, isLocalOnly: Bool) -> ClientTable {
            var table = ClientTable.direct(Self.columns, .init(isLocalOnly: isLocalOnly))
            table.isDirect = isDirect
            return table
        }
        let scenario = try scenario(table(isSyncedDirect, isLocalOnly: false))
        let shown = try rows(scenario.database)
        try scenario.database.apply(table(isLocalDirect, isLocalOnly: true))
        try scenario.database.write("INSERT INTO items (id, t, i) VALUES ('l', 'mine', 9)")
        for isDirect in [isSyncedDirect, isSyncedDirect, !isSyncedDirect] {
            try scenario.database.apply(table(isDirect, isLocalOnly: false))
            #expect(try rows(scenario.database) == shown)
        }
        for isDirect in [!isLocalDirect, isLocalDirect] {
            try scenario.database.apply(table(isDirect, isLocalOnly: true))
            #expect(try rows(scenario.database) == ["l|mine|9"])
        }
        let queued = try scenario.database.entries().filter { $0?.contains("mine") == true }
        #expect(queued.isEmpty)
        // Signing out removes them, also where it keeps local-only rows that are shown.
        for options: ClearOptions in [[], .localTables] {
            try scenario.database.apply(table(isSyncedDirect, isLocalOnly: false))
            try scenario.database.queue.write { try LocalData.clear($0, options) }
            try scenario.database.apply(table(isLocalDirect, isLocalOnly: true))
            #expect(try rows(scenario.database).isEmpty)
            try scenario.database.write("INSERT INTO items (id, t, i) VALUES ('l', 'mine', 9)")
            try scenario.database.queue.write { try LocalData.clear($0, []) }
            #expect(try rows(scenario.database) == ["l|mine|9"])
        }
    }

    @Test func ordinaryBecomesInsertOnlyAndBack() throws {
        let scenario = try scenario(.direct(Self.columns))
        let shown = try rows(scenario.database)
        let queue = try scenario.database.entries()
        let insertOnly = ClientTable.direct(Self.columns, .init(isInsertOnly: true))
        for table in [insertOnly, insertOnly, .direct(Self.columns), insertOnly] {
            try scenario.database.apply(table)
            #expect(try rows(scenario.database) == shown)
            #expect(try scenario.database.entries() == queue)
        }
        try scenario.database.write("INSERT INTO items (id, t) VALUES ('4', 'sent')")
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == shown)
        #expect(try scenario.database.entries().count == queue.count + 1)
    }

    @Test func localOnlyRowsStayWhenColumnsAndKindsChange() throws {
        let options = ClientTableOptions(isLocalOnly: true)
        let database = try LocalTestDatabase(.direct(Self.columns, options))
        try database.write("INSERT INTO items VALUES ('1', 'a' || char(0) || 'b', 9223372036854775807)")
        try database.apply(.direct(Self.columns + [.real("r")], options))
        #expect(try rows(database, "hex(t), i, r") == ["610062|9223372036854775807|"])
        try database.apply(.items(Self.columns, isLocalOnly: true))
        #expect(try rows(database, "i") == ["9223372036854775807"])
        try database.apply(.direct([.init(name: "title", type: .text, formerName: "t"), .text("i")], options))
        #expect(try rows(database, "hex(title), i") == ["610062|9223372036854775807"])
        #expect(throws: RawTableError.self) {
            try database.apply(
                .direct([.text("title"), .init(name: "i", type: .text, constraints: ["CHECK (i = '')"])], options)
            )
        }
        #expect(try rows(database, "i") == ["9223372036854775807"])
    }

    /// Another implementation, and ours, use the table as the raw table that it is.
    @Test func rawTableOfTheNameTakesTheTableAsItIs() throws {
        let scenario = try scenario(.direct(Self.columns))
        let objects = try scenario.database.rows("SELECT sql FROM sqlite_master ORDER BY name")
        let raw = ClientRawTable(name: "items", structure: .init(tableName: "items"), clear: "DELETE FROM items")
        try scenario.database.apply(ClientSchema(rawTables: [raw]))
        #expect(try scenario.database.rows("SELECT sql FROM sqlite_master ORDER BY name") == objects)
        scenario.failIteration()
        try openGate(scenario)
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            .ops("a", .put(3, "1", data: #"{"t":"raw","i":3}"#)),
            .done
        )
        #expect(try rows(scenario.database) == ["1|raw|3", "2|b|2"])
        try scenario.database.write("UPDATE items SET i = 4 WHERE id = '1'")
        #expect(try scenario.database.entries() == [#"{"op":"PATCH","id":"1","type":"items","data":{"i":4}}"#])
        try scenario.database.apply(.direct(Self.columns))
        #expect(try rows(scenario.database) == ["1|raw|4", "2|b|2"])
        #expect(try scenario.database.rows("SELECT sql FROM sqlite_master ORDER BY name") == objects)
    }

    // MARK: - Foreign keys

    private static let child = ClientTable(
        name: "children",
        columns: [
            .init(
                name: "item",
                type: .text,
                constraints: ["REFERENCES items(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"]
            )
        ],
        options: .init(),
        isDirect: true
    )

    @Test func parentThatIsMadeAnewTakesNoChildWithIt() throws {
        let scenario = try scenario(.direct(Self.columns))
        try scenario.database.apply(.direct(Self.columns), Self.child)
        try scenario.database.run("PRAGMA foreign_keys = ON")
        try scenario.database.write("INSERT INTO children VALUES ('c', '1')")
        let schema = ClientSchema(tables: [.direct(Self.columns + [.text("later")]), Self.child])
        let error = #expect(throws: LocalDatabaseError.self) { try scenario.database.apply(schema) }
        #expect(error.map { "\($0)" }?.contains("PRAGMA foreign_keys = OFF") == true)
        try scenario.database.queue.writeWithoutTransaction { db in
            try schema.withoutForeignKeys(db) {
                try db.inTransaction {
                    try schema.apply(to: db)
                    return .commit
                }
            }
            #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true)
            #expect(try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").isEmpty)
        }
        #expect(try scenario.database.rows("SELECT * FROM children") == ["c|1"])
        #expect(try rows(scenario.database, "later").first == "x")
        try scenario.database.write("DELETE FROM items WHERE id = '1'")
        #expect(try scenario.database.rows("SELECT * FROM children").isEmpty)
    }
}

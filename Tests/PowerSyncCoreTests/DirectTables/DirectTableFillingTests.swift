import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Direct tables without their triggers while the first rows come (docs/client-sync.md "Publishing rows").
@Suite struct DirectTableFillingTests {
    private static let table = ClientTable(
        name: "items",
        columns: [
            .init(name: "t", type: .text), .init(name: "i", type: .integer, constraints: ["UNIQUE", "CHECK (i <> 7)"]),
        ],
        indexes: [.init(name: "by_t", columns: [.init(name: "t", isDescending: false)])],
        options: .init(),
        isDirect: true
    )

    /// The lines of a first sync of rows.
    private static func lines(_ count: Int) -> [SyncLine] {
        let operations = (1...Int64(count)).map { number in
            Operation.put(number, "\(number)", data: #"{"t":"row \#(number)","i":\#(number)}"#)
        }
        return [.checkpoint(Int64(count), [.bucket("a")]), .data(.line("a", operations))]
    }

    private func receive(_ scenario: SyncScenario, _ lines: [SyncLine]) throws {
        for line in lines { try scenario.receive(line) }
    }

    /// Everything that is in the schema.
    private func objects(_ scenario: SyncScenario) throws -> Set<String> {
        Set(try scenario.database.rows("SELECT type, name, sql FROM sqlite_master"))
    }

    /// Which is another one when the index was made again.
    private func placeOfIndex(_ scenario: SyncScenario) throws -> Int64? {
        try scenario.database.integer("SELECT rowid FROM sqlite_master WHERE name = 'powersync_items__by_t'")
    }

    private func schemaVersion(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("PRAGMA schema_version")
    }

    @Test(arguments: [DirectTableFilling.fewestRows - 1, DirectTableFilling.fewestRows + 10], [false, true])
    func firstRowsComeWithoutTriggersAndEverythingIsThereAgain(count: Int, hasBulkLoad: Bool) throws {
        let scenario = try SyncScenario(Self.table, bulkLoadThreshold: hasBulkLoad ? 10 : nil)
        try scenario.start()
        let (before, place) = try (objects(scenario), placeOfIndex(scenario))
        try receive(scenario, Self.lines(count))
        let version = try schemaVersion(scenario)
        try scenario.receive(.done)
        #expect(scenario.status.hasSynced == true)
        let isFilled = count >= DirectTableFilling.fewestRows
        if !hasBulkLoad { #expect(try (schemaVersion(scenario) != version) == isFilled) }
        #expect(try objects(scenario) == before)
        #expect(try (placeOfIndex(scenario) != place) == isFilled)
        #expect(
            try scenario.database.rows("SELECT count(*), sum(i) FROM items") == [
                "\(count - 1)|\((1...count).reduce(0, +) - 7)"
            ]
        )
        #expect(scenario.status.setAside.rows.map(\.id) == ["7"])
        #expect(try scenario.database.entries().isEmpty)
        // The index has all rows, and writes are recorded.
        #expect(
            try scenario.database.rows("SELECT id FROM items INDEXED BY powersync_items__by_t WHERE t = 'row 9'") == [
                "9"
            ]
        )
        #expect(try scenario.database.rows("PRAGMA integrity_check") == ["ok"])
        try scenario.database.write("INSERT OR REPLACE INTO items (id, t, i) VALUES ('new', 'x', 9)")
        #expect(
            try scenario.database.rows("SELECT data ->> 'op', data ->> 'id' FROM ps_crud ORDER BY id") == [
                "DELETE|9", "PUT|new",
            ]
        )
    }

    /// In which order triggers run depends on when they were made.
    @Test(arguments: ["", "TEMP"]) func tableWithATriggerOfTheAppStaysAsItIs(_ kind: String) throws {
        let scenario = try SyncScenario(Self.table)
        try scenario.start()
        try scenario.database.write("CREATE TABLE seen (id)")
        try scenario.database.write(
            "CREATE \(kind) TRIGGER note AFTER INSERT ON main.items BEGIN INSERT INTO seen VALUES (NEW.id); END"
        )
        try receive(scenario, Self.lines(DirectTableFilling.fewestRows + 1))
        let version = try schemaVersion(scenario)
        try scenario.receive(.done)
        #expect(try schemaVersion(scenario) == version)
        #expect(try scenario.database.rows("SELECT count(*) FROM seen") == ["\(DirectTableFilling.fewestRows)"])
    }

    /// The names of tables are looked for in the temporary schema first.
    @Test func tableThatATemporaryOneHidesStaysAsItIs() throws {
        let scenario = try SyncScenario(Self.table)
        try scenario.start()
        let before = try objects(scenario)
        try scenario.database.write("CREATE TEMP TABLE ITEMS (id TEXT PRIMARY KEY, t TEXT, i INTEGER)")
        try receive(scenario, Self.lines(DirectTableFilling.fewestRows + 1) + [.done])
        #expect(try objects(scenario) == before)
    }

    /// Foreign keys and triggers of the app may search by them for each row that comes.
    @Test func indexesStayWhereTheAppHasATrigger() throws {
        let scenario = try SyncScenario(
            Self.table,
            ClientTable(name: "other", columns: [.text("col")], options: .init())
        )
        try scenario.start()
        try scenario.database.write(
            """
            CREATE TRIGGER look AFTER INSERT ON ps_data__other
            BEGIN SELECT count(*) FROM items INDEXED BY powersync_items__by_t WHERE t = NEW.id; END
            """
        )
        let count = DirectTableFilling.fewestRows + 1
        try receive(scenario, [.checkpoint(Int64(count) + 1, [.bucket("a")])] + Self.lines(count).dropFirst())
        try receive(scenario, [.ops("a", .put(Int64(count) + 1, "x", type: "other")), .done])
        #expect(scenario.status.hasSynced == true)
    }

    @Test func indexesStayWhereTheAppHasAStatement() throws {
        let counts = ClientRawTable(
            name: "counts",
            put: .init(
                sql: "INSERT INTO counts SELECT ?1, count(*) FROM items INDEXED BY powersync_items__by_t WHERE t = ?1",
                parameters: [.id]
            ),
            delete: .init(sql: "DELETE FROM counts WHERE id = ?1", parameters: [.id])
        )
        let scenario = try SyncScenario(Self.table, rawTables: [counts])
        try scenario.database.run("CREATE TABLE counts (id TEXT PRIMARY KEY, number INTEGER)")
        try scenario.start()
        let count = DirectTableFilling.fewestRows + 1
        try receive(scenario, [.checkpoint(Int64(count) + 1, [.bucket("a")])] + Self.lines(count).dropFirst())
        try receive(scenario, [.ops("a", .put(Int64(count) + 1, "row 1", type: "counts")), .done])
        #expect(scenario.status.hasSynced == true)
        #expect(try scenario.database.rows("SELECT id FROM counts") == ["row 1"])
    }

    @Test(arguments: [false, true]) func indexesStayWhereForeignKeysAreEnforced(_ areEnforced: Bool) throws {
        let reference = "REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED"
        let child = ClientTable(
            name: "children",
            columns: [.init(name: "item", type: .text, constraints: [reference])],
            options: .init(),
            isDirect: true
        )
        let scenario = try SyncScenario(Self.table, child)
        try scenario.database.run("PRAGMA foreign_keys = \(areEnforced ? "ON" : "OFF")")
        try scenario.start()
        let (before, place) = try (objects(scenario), placeOfIndex(scenario))
        let count = DirectTableFilling.fewestRows + 1
        try receive(scenario, Self.lines(count))
        let version = try schemaVersion(scenario)
        try receive(scenario, [.done])
        #expect(scenario.status.hasSynced == true)
        #expect(try objects(scenario) == before)
        #expect(try schemaVersion(scenario) != version)
        #expect(try (placeOfIndex(scenario) == place) == areEnforced)
    }

    @Test func tableWithRowsStaysAsItIs() throws {
        let scenario = try SyncScenario(Self.table)
        try scenario.start()
        try scenario.database.write(
            "INSERT INTO items (id) VALUES ('mine'); DELETE FROM ps_crud; DELETE FROM ps_updated_rows"
        )
        try scenario.database.write("DELETE FROM ps_kv WHERE key = 'target_checkpoint_request_id'")
        try receive(scenario, Self.lines(DirectTableFilling.fewestRows + 1))
        let version = try schemaVersion(scenario)
        try scenario.receive(.done)
        #expect(scenario.status.hasSynced == true)
        #expect(try schemaVersion(scenario) == version)
    }

    /// A trigger of the app may end the transaction, and with it what was dropped is back.
    @Test func publicationThatFailsLeavesTriggersAndIndexes() throws {
        let scenario = try SyncScenario(
            Self.table,
            ClientTable(name: "other", columns: [.text("col")], options: .init())
        )
        try scenario.start()
        try scenario.database.write(
            "CREATE TRIGGER refuse AFTER INSERT ON ps_data__other BEGIN SELECT RAISE(ROLLBACK, 'no'); END"
        )
        let before = try objects(scenario)
        let count = DirectTableFilling.fewestRows
        try receive(scenario, Self.lines(count))
        try scenario.receive(.ops("a", .put(Int64(count) + 1, "x", type: "other")))
        #expect(throws: (any Error).self) { try scenario.receive(.done) }
        #expect(try objects(scenario) == before)
        #expect(try scenario.database.rows("SELECT count(*) FROM items") == ["0"])
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The engine remembers what it has asked about tables only as long as they stay the same.
@Suite(.timeLimit(.minutes(1))) struct KnownSchemaTests {
    private static func row(_ opID: Int64, _ id: String) -> SyncLine {
        .ops("a", .put(opID, id, type: "lists"))
    }

    private func untyped(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id FROM ps_untyped ORDER BY id")
    }

    private func lists(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id FROM ps_data__lists ORDER BY id")
    }

    @Test
    func rowsFollowTablesThatAppearAndVanishWhileAnIterationRuns() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), Self.row(1, "x"), .done)
        #expect(try untyped(scenario) == ["x"])
        try scenario.database.apply(.items(), ClientTable(name: "lists", columns: []))
        #expect(try lists(scenario) == ["x"])
        try scenario.receive(.diff(2), Self.row(2, "y"), .done)
        #expect(try untyped(scenario) == [])
        #expect(try lists(scenario) == ["x", "y"])
        try scenario.database.apply(.items())
        try scenario.receive(.diff(3), Self.row(3, "z"), .done)
        #expect(try untyped(scenario) == ["x", "y", "z"])
    }

    /// What a transaction that is rolled back has seen is forgotten, though SQLite gives its version number again.
    @Test
    func rollback() throws {
        struct Failure: Error {}
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), Self.row(1, "x"), .done)
        let lines = [SyncLine.diff(2), Self.row(2, "y"), .done].map { SyncEvent.line($0) }
        var version: Int64?
        #expect(throws: Failure.self) {
            try scenario.write { db in
                try db.execute(sql: "CREATE TABLE ps_data__lists (id TEXT PRIMARY KEY NOT NULL, data TEXT)")
                var copy = scenario.engine
                _ = try copy.handle(lines, in: db, now: scenario.now)
                version = try Int64.fetchOne(db, sql: "PRAGMA schema_version")
                throw Failure()
            }
        }
        try scenario.write { db in
            try db.execute(sql: "CREATE TABLE mine (id TEXT PRIMARY KEY NOT NULL)")
            #expect(try Int64.fetchOne(db, sql: "PRAGMA schema_version") == version)
        }
        try scenario.send(lines)
        #expect(try untyped(scenario) == ["x", "y"])
    }

    /// Triggers that are created while an iteration runs are noticed: what they write is announced.
    @Test(
        arguments: ["TRIGGER", "TEMP TRIGGER"],
        ["ps_data__items", "PS_DATA__Items"]
    )
    func triggers(kind: String, table: String) throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        try scenario.database.run("CREATE TABLE mirror (id TEXT)")
        let observer = ChangeCounter(tables: ["mirror"])
        scenario.database.queue.add(transactionObserver: observer)
        try scenario.receive(.diff(2), .ops("a", .put(2, "y")), .done)
        #expect(observer.changes == 0)
        try scenario.database.run(
            """
            CREATE \(kind) copy AFTER INSERT ON \(table)
            BEGIN INSERT INTO mirror VALUES (NEW.id); END
            """
        )
        try scenario.receive(.diff(3), .ops("a", .put(3, "z")), .done)
        #expect(observer.changes > 0)
        #expect(try scenario.database.rows("SELECT id FROM mirror") == ["z"])
    }
}

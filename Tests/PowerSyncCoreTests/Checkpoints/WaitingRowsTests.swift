import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The same raw table with statements of ours, and of the app.
private enum UsersTable: CaseIterable {
    case inferred
    case own

    var schema: ClientSchema { ClientSchema(tables: [.items()], rawTables: [rawTable]) }

    var rawTable: ClientRawTable {
        switch self {
        case .inferred:
            ClientRawTable(name: "users", structure: .init(tableName: "local_users"))
        case .own:
            ClientRawTable(
                name: "users",
                put: .init(
                    sql: "INSERT OR REPLACE INTO local_users VALUES (?, ?)",
                    parameters: [.id, .column("name")]
                ),
                delete: .init(sql: "DELETE FROM local_users WHERE id = ?", parameters: [.id])
            )
        }
    }
}

/// Raw tables that are declared, or made, after their rows have come.
@Suite(.timeLimit(.minutes(1))) struct WaitingRowsTests {
    private func scenario() throws -> SyncScenario {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", type: "users", data: #"{"name":"Ada"}"#),
                .put(2, "2", type: "users", data: #"{"name":"Bob"}"#),
                .put(3, "3", type: "others", data: "{}")
            ),
            .done
        )
        #expect(try untyped(scenario) == ["others|3", "users|1", "users|2"])
        return scenario
    }

    private func untyped(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT type, id FROM ps_untyped ORDER BY 1, 2")
    }

    private func users(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT * FROM local_users ORDER BY id")
    }

    @Test(arguments: UsersTable.allCases)
    fileprivate func theyMoveWhenTheTableIsDeclared(_ table: UsersTable) throws {
        let scenario = try scenario()
        try scenario.database.run("CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT)")
        try scenario.database.apply(table.schema)
        #expect(try users(scenario) == ["1|Ada", "2|Bob"])
        #expect(try untyped(scenario) == ["others|3"])
        #expect(try scenario.updatedRows.isEmpty)
        try scenario.start()
        try scenario.receive(.checkpoint(4, [.bucket("a")]), .ops("a", .remove(4, "1", type: "users")), .done)
        #expect(try users(scenario) == ["2|Bob"])
    }

    @Test
    func theyMoveWhenAnIterationStartsIfTheTableWasMadeAfterItWasDeclared() throws {
        let scenario = try scenario()
        try scenario.database.apply(UsersTable.inferred.schema)
        #expect(try untyped(scenario).count == 3)
        try scenario.database.run("CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT)")
        try scenario.start()
        #expect(try users(scenario) == ["1|Ada", "2|Bob"])
        #expect(try untyped(scenario) == ["others|3"])
    }

    /// An app mends its tables after opening.
    @Test
    func tableThatCannotBeWrittenYetKeepsNobodyFromOpeningTheDatabase() throws {
        let scenario = try scenario()
        try scenario.database.run(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT, place TEXT DEFAULT 'x' REFERENCES places (id))
            """
        )
        try scenario.database.apply(UsersTable.inferred.schema)
        #expect(try untyped(scenario).count == 3)
        try scenario.database.run("CREATE TABLE places (id TEXT PRIMARY KEY); INSERT INTO places VALUES ('x')")
        try scenario.start()
        #expect(try users(scenario) == ["1|Ada|", "2|Bob|"])
    }

    @Test
    func whatAConstraintRefusesIsSetAsideAndTheOthersMove() throws {
        let scenario = try scenario()
        try scenario.database.apply(UsersTable.inferred.schema)
        try scenario.database.run("CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT CHECK (name < 'B'))")
        try scenario.start()
        #expect(try users(scenario) == ["1|Ada"])
        #expect(try untyped(scenario) == ["others|3"])
        #expect(scenario.status.setAside.rows.map(\.id) == ["2"])
        #expect(try scenario.updatedRows == ["users|2"])
        try scenario.receive(
            .checkpoint(4, [.bucket("a")]),
            .ops("a", .put(4, "2", type: "users", data: #"{"name":"Abe"}"#)),
            .done
        )
        #expect(try users(scenario) == ["1|Ada", "2|Abe"])
        #expect(scenario.status.setAside.isEmpty)
    }

    @Test
    func rowsThatAreOlderThanThoseOfTheTableDoNotReplaceThem() throws {
        let scenario = try scenario()
        // As a version left them that did not move rows.
        try scenario.database.run("CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT)")
        try scenario.write { db in
            try ConnectionState.of(db).didApply(db, rawTables: [UsersTable.inferred.rawTable])
            try db.execute(
                sql: """
                    INSERT INTO local_users VALUES ('1', 'Ada'), ('2', 'Bob'), ('4', 'mine');
                    UPDATE ps_untyped SET data = '{"name":"old"}';
                    INSERT INTO ps_untyped VALUES ('users', '4', '{"name":"old"}'), ('users', '5', '{"name":"old"}');
                    INSERT INTO ps_updated_rows VALUES ('users', '2');
                    UPDATE local_users SET name = 'changed' WHERE id = '2';
                    """
            )
        }
        try scenario.start()
        #expect(try users(scenario) == ["1|Ada", "2|changed", "4|mine", "5|old"])
        #expect(try untyped(scenario) == ["others|3"])
        try scenario.receive(.checkpoint(3, [.bucket("a")]), .done)
        #expect(try users(scenario) == ["1|Ada", "2|Bob", "4|mine"])
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct RawTableErrorTests {
    struct Mistake: CustomTestStringConvertible {
        let testDescription: String
        var table = ClientRawTable(name: "users", structure: .init(tableName: "users"))
        var data: String? = #"{"name":"secret"}"#
        let code: SyncEngineError.Code
        let words: String
    }

    private static func explicit(
        put: ClientRawTable.Statement = .init(sql: "INSERT INTO users (id) VALUES (?)", parameters: [.id]),
        delete: ClientRawTable.Statement = .init(sql: "DELETE FROM users WHERE id = ?", parameters: [.id])
    ) -> ClientRawTable {
        ClientRawTable(name: "users", put: put, delete: delete)
    }

    static let mistakes = [
        Mistake(
            testDescription: "too few values",
            table: explicit(put: .init(sql: "INSERT INTO users VALUES (?, ?)", parameters: [.id])),
            code: .argument,
            words: "The put statement of raw table users has 2 parameters, but values for 1 are declared"
        ),
        Mistake(
            testDescription: "empty statement",
            table: explicit(put: .init(sql: " -- nothing", parameters: [])),
            code: .argument,
            words: "Raw table users has an empty put statement"
        ),
        Mistake(
            testDescription: "column in delete",
            table: explicit(delete: .init(sql: "DELETE FROM users WHERE id = ?", parameters: [.column("id")])),
            data: nil,
            code: .argument,
            words: "The delete statement of raw table users may only use the parameter Id"
        ),
        Mistake(
            testDescription: "neither name nor statement",
            table: ClientRawTable(name: "users"),
            code: .argument,
            words: "Raw table users has no local name"
        ),
        Mistake(
            testDescription: "missing table",
            table: ClientRawTable(name: "users", structure: .init(tableName: "missing")),
            code: .argument,
            words: "Could not find missing in local schema."
        ),
        Mistake(
            testDescription: "syntax error",
            table: explicit(put: .init(sql: "INSERT users", parameters: [])),
            code: .database,
            words: "syntax error"
        ),
        Mistake(testDescription: "data is not an object", data: "[1]", code: .localData, words: "not a JSON object"),
    ]

    @Test(arguments: mistakes)
    func failureRollsBackAndTellsTheRow(_ mistake: Mistake) throws {
        let scenario = try SyncScenario(rawTables: [mistake.table])
        try scenario.database.run("CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT NOT NULL)")
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "x"), .put(2, "u1", type: "users", data: mistake.data))
        )
        let error = #expect(throws: SyncEngineError.self) { try scenario.receive(.done) }
        #expect(error?.code == mistake.code)
        #expect(error?.description.contains(mistake.words) == true, "\(String(describing: error))")
        #expect(error?.description.contains("u1") == false)
        #expect(error?.description.contains("secret") == false)
        #expect(
            error?.context
                == (mistake.data.map { "replacing into users, id = u1, data = \($0)" }
                    ?? "deleting from users, id = u1")
        )
        #expect(try scenario.itemIDs.isEmpty)
        #expect(try scenario.oplog.count == 2)
        #expect(try scenario.write { try ConnectionState.of($0).isPublishing } == false)
    }

    @Test func rowThatAConstraintRefusesIsNoMistake() throws {
        let table = ClientRawTable(name: "users", structure: .init(tableName: "users"))
        let scenario = try SyncScenario(rawTables: [table])
        try scenario.database.run("CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT NOT NULL)")
        try scenario.start()
        let actions = try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "x"), .put(2, "u1", type: "users", data: #"{"secret":1}"#)),
            .done
        )
        #expect(try scenario.itemIDs == ["x"])
        #expect(
            scenario.status.setAside.rows.map { [$0.table, $0.id, $0.reason] }
                == [["users", "u1", "NOT NULL constraint failed: users.name"]]
        )
        #expect(actions.statuses.last?.setAside == scenario.status.setAside)
        let warnings = actions.messages(.warning)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("'u1'") == true)
        #expect(warnings.first?.contains("secret") == false)
        #expect(try scenario.receive(.diff(2), .done).messages(.warning).isEmpty)
        #expect(try scenario.updatedRows == ["users|u1"])
    }

    // MARK: - Clearing

    private static let cleared = ClientRawTable(
        name: "users",
        structure: .init(tableName: "users"),
        clear: "DELETE FROM users; DELETE FROM notes"
    )
    private static let kept = ClientRawTable(name: "kept", structure: .init(tableName: "kept"))

    private func database(_ clear: String? = cleared.clear) throws -> LocalTestDatabase {
        var table = Self.cleared
        table.clear = clear
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [table, Self.kept]))
        try database.run(
            """
            CREATE TABLE users (id TEXT PRIMARY KEY);
            CREATE TABLE notes (id TEXT PRIMARY KEY);
            CREATE TABLE kept (id TEXT PRIMARY KEY);
            """
        )
        try database.run(
            "SELECT powersync_create_raw_table_crud_trigger(?, 'deleted', 'DELETE')",
            [table.json.text]
        )
        try database.write(
            "INSERT INTO users VALUES ('1'); INSERT INTO notes VALUES ('2'); INSERT INTO kept VALUES ('3')"
        )
        return database
    }

    @Test(arguments: [ClearOptions(), .soft, .localTables])
    func clearingRunsTheStatementsAndQueuesNothing(_ options: ClearOptions) throws {
        let database = try database()
        try database.write("SELECT powersync_clear(?)", [options.rawValue])
        #expect(try database.rows("SELECT id FROM users UNION ALL SELECT id FROM notes").isEmpty)
        #expect(try database.rows("SELECT id FROM kept") == ["3"])
        #expect(try database.entries().isEmpty)
    }

    @Test func failingClearStatementIsNamed() throws {
        let database = try database("DELETE FROM missing")
        expectDatabaseError(1, "no such table: missing", "(context: Clearing raw table users)") {
            try database.write("SELECT powersync_clear(0)")
        }
        let error = #expect(throws: RawTableError.self) { try database.queue.write { try LocalData.clear($0, []) } }
        #expect(error?.resultCode == 1)
        #expect(try database.rows("SELECT id FROM users") == ["1"])
        try database.write("DELETE FROM users")
        #expect(try database.entries() == [#"{"op":"DELETE","id":"1","type":"users"}"#])
    }
}

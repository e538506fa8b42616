import Foundation
import PowerSync
import Testing

/// Texts with several statements.
@Suite struct SeveralStatementsTests {
    /// A view, and a table with columns of its own.
    private static let schema = Schema(
        tables: testSchema.tables + [
            Table(name: "members", columns: [.text("name", .notNull, .default("''"))], direct: true)
        ]
    )
    private static let tables = ["users", "members"]

    @Test(arguments: tables)
    func allStatementsOfATextRunAndEachTakesItsValues(_ table: String) async throws {
        try await withMemoryDatabase(Self.schema) { database async throws in
            let stored = table == "users" ? "ps_data__users" : table
            let changes = try await database.execute(
                sql: """
                    INSERT INTO \(table) (id, name) VALUES ('1', 'a;b'), ('2', ?); -- first
                    CREATE TABLE seen (x);
                    CREATE TRIGGER see AFTER INSERT ON \(stored) BEGIN INSERT INTO seen VALUES (1); SELECT 1; END;
                    INSERT INTO \(table) (id, name) VALUES ('3', ?);
                    UPDATE \(table) SET name = ? WHERE id = ?; /* end */ ;
                    """,
                parameters: ["b", "c", "d", "1"]
            )
            #expect(changes == 4)
            let names = try await database.getAll("SELECT name FROM \(table) ORDER BY id") {
                try $0.getString(index: 0)
            }
            #expect(names == ["d", "b", "c"])
            #expect(try await database.count("seen") == 1)
            #expect(
                try await database.getCrudBatch()?.crud.map { "\($0.op.rawValue) \($0.table) \($0.id)" } == [
                    "PUT \(table) 1", "PUT \(table) 2", "PUT \(table) 3", "PATCH \(table) 1",
                ]
            )
        }
    }

    @Test(
        arguments: tables,
        [
            "INSERT INTO users (id) VALUES ('1'); INSERT INTO nowhere VALUES (1)",
            "INSERT INTO users (id) VALUES ('1'); INSERT INTO users (id) VALUES ('1')",
            "INSERT INTO users (id) VALUES ('1'); nonsense", "INSERT INTO users (id) VALUES ('1'); SELECT ?",
            "CREATE TABLE a (x); INSERT INTO users (id) VALUES ('1'); INSERT INTO users (id) VALUES (NULL)",
        ]
    )
    func ofSeveralStatementsThatFailNothingRemains(_ table: String, _ sql: String) async throws {
        try await withMemoryDatabase(Self.schema) { database async throws in
            let sql = sql.replacing("users", with: table)
            await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            #expect(try await database.count(table) == 0)
            #expect(try await database.count("ps_crud") == 0)
        }
    }

    @Test
    func pragmaAmongSeveralStatementsCommitsEachByItself() async throws {
        try await withMemoryDatabase { database async throws in
            await #expect(throws: PowerSyncError.self) {
                try await database.execute(
                    "INSERT INTO users (id) VALUES ('1'); PRAGMA user_version; INSERT INTO users (id) VALUES ('1')"
                )
            }
            #expect(try await database.count("users") == 1)
        }
    }

    @Test
    func whatRunsOneStatementRefusesSeveralAndNamesThoseThatWouldBeDropped() async throws {
        try await withMemoryDatabase { database async throws in
            let sql = "SELECT name FROM users; DELETE FROM users"
            func expectRefusal(_ body: () async throws -> Void) async throws {
                let error = await #expect(throws: PowerSyncError.self) { try await body() }
                guard case .operationFailed(let message?, _) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(message.contains("'DELETE FROM users'"), "\(message)")
            }
            try await expectRefusal { _ = try await database.getAll(sql) { _ in 0 } }
            try await expectRefusal { _ = try await database.get(sql) { _ in 0 } }
            try await expectRefusal { _ = try await database.getOptional(sql) { _ in 0 } }
            try await expectRefusal { for try await _ in try database.watch(sql, mapper: { _ in 0 }) {} }
            try await expectRefusal { _ = try await database.executeBatch(sql: sql, parameterSets: [[]]) }
            try await expectRefusal { _ = try await database.getAll("SELECT 1; DELETE FROM users", mapper: { _ in 0 }) }
        }
    }

    @Test(arguments: ["SELECT ';'", "SELECT 1;", "SELECT 1 ; \n", "SELECT 1 -- ; end"])
    func oneStatementGivesNoWarning(_ sql: String) async throws {
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [writer])) {
            database async throws in
            _ = try await database.getAll(sql) { _ in 0 }
        }
        #expect(writer.entries.isEmpty)
    }
}

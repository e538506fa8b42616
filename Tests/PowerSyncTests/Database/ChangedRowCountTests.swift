import Foundation
import PowerSync
import Testing

/// What `execute` returns.
@Suite struct ChangedRowCountTests {
    @Test func changedRowsAreCountedForViewsAndTables() async throws {
        let schema = Schema(
            Table(name: "users", columns: [.text("name")]),
            Table(name: "drafts", columns: [.text("name")], localOnly: true),
            Table(name: "events", columns: [.text("name")], insertOnly: true),
            Table(name: "typed", columns: [.text("name")], direct: true),
            Table(name: "stamped", columns: [.text("name")], trackMetadata: true, direct: true),
            Table(name: "sent", columns: [.text("name")], insertOnly: true, direct: true)
        )
        try await withMemoryDatabase(schema) { database in
            try await database.execute("CREATE TABLE plain (id TEXT PRIMARY KEY, name TEXT)")
            for table in ["users", "drafts", "plain", "typed", "stamped", "events", "sent"] {
                func changes(_ sql: String) async throws -> Int64 {
                    try await database.execute(sql.replacing("TABLE", with: table))
                }
                #expect(
                    try await changes("INSERT INTO TABLE (id, name) VALUES ('1', 'a'), ('2', 'b'), ('3', 'c')") == 3
                )
                // Not those of the statement before.
                for sql in [
                    "SELECT * FROM TABLE", "PRAGMA user_version", "CREATE INDEX IF NOT EXISTS i ON plain (name)",
                ] {
                    #expect(try await changes(sql) == 0, "\(sql)")
                }
                if ["events", "sent"].contains(table) { continue }
                #expect(try await changes("INSERT OR IGNORE INTO \"TABLE\" (id) VALUES ('1'), ('4')") == 1)
                #expect(try await changes("update or fail main.TABLE set name = 'x' WHERE id > '1'") == 3)
                #expect(try await changes("UPDATE TABLE SET name = 'x' WHERE id = 'none'") == 0)
                #expect(try await changes("REPLACE INTO [TABLE] (id) VALUES ('1')") == 1)
                #expect(try await changes("WITH a(i) AS (SELECT '1') DELETE FROM TABLE WHERE id IN a") == 1)
                #expect(try await changes("DELETE FROM TABLE") == 3)
            }
        }
    }

    @Test
    func whatAStatementWritesThroughOtherViewsByTheAppsTriggersIsNotCounted() async throws {
        let schema = Schema(
            Table(name: "users", columns: [.text("name")]),
            Table(name: "log", columns: [.text("what")])
        )
        try await withMemoryDatabase(schema) { database in
            try await database.execute(
                """
                CREATE TRIGGER log_users AFTER INSERT ON ps_data__users BEGIN
                INSERT INTO log (id, what) VALUES (NEW.id || '1', 'a'), (NEW.id || '2', 'b'); END
                """
            )
            #expect(try await database.execute("INSERT INTO users (id) VALUES ('1'), ('2'), ('3')") == 3)
            #expect(try await database.count("log") == 6)
        }
    }
}

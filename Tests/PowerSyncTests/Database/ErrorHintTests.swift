import Foundation
import PowerSync
import Testing

/// What errors of SQLite say that come from tables being views.
@Suite struct ErrorHintTests {
    @Test(arguments: [
        ("INSERT INTO users (id) VALUES ('1') ON CONFLICT (id) DO UPDATE SET name = 'x'", "upsert("),
        ("INSERT INTO users (id) VALUES ('1') ON CONFLICT DO NOTHING", "upsert("),
        ("CREATE TRIGGER t AFTER INSERT ON users BEGIN SELECT 1; END", "ps_data__<name>"),
        ("CREATE TRIGGER t BEFORE DELETE ON users BEGIN SELECT 1; END", "ps_data__<name>"),
        ("CREATE INDEX i ON users (name)", "declare the index in the schema"),
    ])
    func errorsAboutViewsSayWhatToDo(_ sql: String, _ words: String) async throws {
        try await withMemoryDatabase { database async throws in
            let error = await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            #expect(error?.localizedDescription.contains(words) == true, "\(String(describing: error))")
            #expect(error?.localizedDescription.contains(sql) == true)
        }
    }

    @Test func fullTextOverAViewSaysWhatToDo() async throws {
        try await withMemoryDatabase { database async throws in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'word')")
                try await database.execute(
                    "CREATE VIRTUAL TABLE found USING fts5(name, content = 'users', content_rowid = 'rowid')"
                )
                try await database.execute("INSERT INTO found(found) VALUES ('rebuild')")
                _ = try await database.getAll("SELECT name FROM found('word')") { _ in 0 }
            }
            #expect(error?.localizedDescription.contains("has no rowid") == true, "\(String(describing: error))")
        }
    }

    @Test func writesOnReadersSayWhatToDo() async throws {
        try await withFileDatabase { database async throws in
            let sql = "INSERT INTO users (id, name) VALUES ('1', 'a') RETURNING id"
            let error = await #expect(throws: PowerSyncError.self) { _ = try await database.getAll(sql) { _ in 0 } }
            let text = error?.localizedDescription ?? ""
            #expect(
                text.contains("attempt to write a readonly database") && text.contains("writeTransaction"),
                "\(text)"
            )
            let ids = try await database.writeTransaction { transaction in
                try transaction.getAll(sql: sql, parameters: []) { try $0.getString(index: 0) }
            }
            #expect(ids == ["1"])
        }
    }

    @Test func missingColumnIsLoggedWithItsStatement() async throws {
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [writer])) {
            database async throws in
            try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'a')")
            await #expect(throws: SqlCursorError.self) {
                _ = try await database.getAll("SELECT id, name FROM users") { try $0.getString(name: "email") }
            }
        }
        let messages = writer.messages(.warning)
        #expect(messages.count == 1)
        #expect(
            messages.first?.contains("'email'") == true
                && messages.first?.contains("SELECT id, name FROM users") == true
        )
    }
}

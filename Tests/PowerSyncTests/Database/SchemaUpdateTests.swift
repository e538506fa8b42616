import PowerSync
import Testing

@Suite struct SchemaUpdateTests {
    private static let users = [Column.text("name"), .text("email")]

    @Test
    func viewCanBeRenamedAndKeepsItsRows() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada")
            let renamed = Table(name: "users", columns: Self.users, viewNameOverride: "people")
            try await database.updateSchema(schema: Schema(renamed))
            #expect(try await database.get("SELECT name FROM people") { try $0.getString(index: 0) } == "Ada")
            await #expect(throws: PowerSyncError.self) { try await database.count("users") }
        }
    }

    @Test
    func tablesCanBeAddedAndRowsOfRemovedOnesComeBack() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada")
            try await database.updateSchema(schema: Schema(Table(name: "tasks", columns: [.text("title")])))
            try await database.execute("INSERT INTO tasks (id, title) VALUES ('1', 'Write')")
            try await database.updateSchema(
                schema: Schema(
                    Table(name: "users", columns: Self.users),
                    Table(name: "tasks", columns: [.text("title")])
                )
            )
            #expect(try await database.count("users") == 1)
            #expect(try await database.count("tasks") == 1)
        }
    }

    @Test
    func schemaThatBreaksARuleIsToldAboutAndApplied() async throws {
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [writer])) { database in
            let table = Table(name: "users", columns: [.text("full name")])
            try await database.updateSchema(schema: Schema(table))
            try await database.execute("INSERT INTO users (id, \"full name\") VALUES ('1', 'Ada')")
        }
        #expect(writer.messages(.warning).count == 1)
    }
}

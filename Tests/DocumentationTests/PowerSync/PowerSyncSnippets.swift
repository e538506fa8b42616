import PowerSync

func landingPage() async throws -> [String] {
    let schema = Schema(
        Table(name: "lists", columns: [.text("name"), .text("owner_id")])
    )
    let database = PowerSyncDatabase(schema: schema, dbFilename: "app.db")

    try await database.execute(
        sql: "INSERT INTO lists(id, name, owner_id) VALUES (uuid(), ?, ?)",
        parameters: ["Groceries", "user-1"]
    )
    let names = try await database.getAll("SELECT name FROM lists") { try $0.getString(index: 0) }
    return names
}

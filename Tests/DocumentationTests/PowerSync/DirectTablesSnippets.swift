import PowerSync
import Testing

/// The code of the page *Direct tables*.
@Suite struct DirectTablesSnippets {
    private func makeSchema() -> Schema {
        let schema = Schema(
            Table(name: "lists", columns: [.text("name", .notNull)], direct: true),
            Table(
                name: "todos",
                columns: [
                    .text("list_id", .notNull, .references("lists", onDelete: .cascade)),
                    .text("title"),
                    .text("state", .notNull, .default("'open'"), .check("state IN ('open', 'done')")),
                    .integer("position"),
                    .text("sort_key", .generated("lower(title)")),
                ],
                indexes: [.ascending(name: "by_list", columns: ["list_id", "sort_key"])],
                direct: true,
                constraints: [.unique("list_id", "position")]
            )
        )
        return schema
    }

    @Test func schemaOfThePageOpensAndIsPrinted() async throws {
        let schema = makeSchema()
        try schema.validate()
        let database = PowerSyncDatabase(schema: schema, dbFilename: ":memory:")
        try await database.execute("INSERT INTO lists (id, name) VALUES ('l', 'Home')")
        try await database.execute("INSERT INTO todos (id, list_id, title) VALUES ('t', 'l', 'Milk')")
        #expect(
            try await database.get("SELECT state || sort_key FROM todos") { try $0.getString(index: 0) } == "openmilk"
        )
        for table in schema.rawTableEquivalent.rawTables {
            print(table.jsonDescription())
        }
        try await database.close()
    }
}

import PowerSync

func schemaOfTheApp() throws -> Schema {
    let schema = Schema(
        Table(name: "lists", columns: [.text("name"), .text("owner_id")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done"), .real("estimate")],
            indexes: [.ascending(name: "by_list", columns: ["list_id", "done"])]
        ),
        Table(name: "drafts", columns: [.text("title")], localOnly: true),
        Table(name: "events", columns: [.text("name")], insertOnly: true)
    )
    try schema.validate()
    return schema
}

func changeTheSchema(_ database: any PowerSyncDatabaseProtocol, _ newSchema: Schema) async throws {
    try await database.disconnect()
    try await database.updateSchema(schema: newSchema)
}

import PowerSync

/// The app of the demo: its client schema, and the service's side of it.
enum DemoApp {
    /// What the clients see.
    static let schema = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name"), .text("photo_id")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done")],
            indexes: [.ascending(name: "by_list", column: "list_id")]
        ),
        createAttachmentTable(name: defaultAttachmentsTableName)
    )

    /// The names of the tables that are synced.
    static let syncedTables = schema.tables.filter { !$0.localOnly }.map(\.name)

    /// The tables of an embedded source.
    static let sourceTables = [
        "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT, photo_id TEXT)",
        "CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER)",
    ]

    /// Who gets which rows, and what comes first.
    ///
    /// - Parameter schema: Where the tables are; `nil` for the default one.
    /// - Returns: YAML.
    static func syncConfig(schema: String? = nil) -> String {
        let prefix = schema.map { "\($0)." } ?? ""
        return """
            config: {edition: 3}
            streams:
              lists:
                auto_subscribe: true
                priority: 1
                query: SELECT * FROM \(prefix)lists AS lists WHERE owner_id = auth.user_id()
              todos:
                auto_subscribe: true
                priority: 2
                query: >
                  SELECT * FROM \(prefix)todos AS todos
                  WHERE list_id IN (SELECT id FROM \(prefix)lists WHERE owner_id = auth.user_id())
            """
    }
}

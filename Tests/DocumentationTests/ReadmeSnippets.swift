import PowerSync

private func readmeExample(session: any BackendSession) async throws {
    let schema = Schema(
        Table(name: "lists", columns: [.text("name"), .text("owner_id")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done")],
            indexes: [.ascending(name: "by_list", column: "list_id")]
        )
    )

    struct Connector: PowerSyncBackendConnectorProtocol {
        /// Where to sync from, and who the user is. Cached by the SDK and renewed before it expires.
        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: "https://sync.example.org", token: try await session.syncToken())
        }

        /// Sends local writes to your own backend, oldest first. Called while the connection is open.
        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            while let transaction = try await database.getNextCrudTransaction() {
                try await session.post(transaction.crud)
                try await transaction.complete()
            }
        }

        let session: any BackendSession
    }

    let database = PowerSyncDatabase(schema: schema, dbFilename: "todos.db")
    try await database.connect(connector: Connector(session: session), options: nil)

    try await database.execute(
        sql: "INSERT INTO lists(id, name, owner_id) VALUES (uuid(), ?, ?)",
        parameters: ["Groceries", "user-1"]
    )

    for try await names in try database.watch(
        "SELECT name FROM lists ORDER BY name",
        mapper: { try $0.getString(index: 0) }
    ) {
        print(names)
    }
}

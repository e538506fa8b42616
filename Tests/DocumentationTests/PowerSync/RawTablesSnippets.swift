import PowerSync

func declareARawTable() -> Schema {
    let todos = RawTable(
        name: "todos",
        schema: RawTableSchema(tableName: "local_todos"),
        clear: "DELETE FROM local_todos"
    )
    let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        todos
    )
    return schema
}

func createARawTable(_ database: any PowerSyncDatabaseProtocol, _ todos: RawTable) async throws {
    try await database.execute(
        sql: """
            CREATE TABLE IF NOT EXISTS local_todos (
                id TEXT NOT NULL PRIMARY KEY,
                list_id TEXT,
                title TEXT,
                completed INTEGER
            )
            """,
        parameters: []
    )
    try await database.writeTransaction { transaction in
        for write in ["INSERT", "UPDATE", "DELETE"] {
            try transaction.execute(
                sql: "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                parameters: [todos.jsonDescription(), "local_todos_\(write.lowercased())", write]
            )
        }
    }
}

func writeTheStatements() -> RawTable {
    let todos = RawTable(
        name: "todos",
        put: PendingStatement(
            sql: "INSERT OR REPLACE INTO local_todos (id, title, other) VALUES (?, ?, ?)",
            parameters: [.id, .column("title"), .rest]
        ),
        delete: PendingStatement(sql: "DELETE FROM local_todos WHERE id = ?", parameters: [.id])
    )
    return todos
}

func printRowsThatWereSetAside(_ database: any PowerSyncDatabaseProtocol) {
    for row in database.currentStatus.setAsideRows {
        print("\(row.table) \(row.id): \(row.reason)")
    }
}

import PowerSync

enum ExtractType {
    case columnOnly
    case columnInOperation
}

/// SQL that reads columns out of the JSON of a row.
func generateJsonExtracts(type: ExtractType, sourceColumn: String, columns: [String]) -> String {
    columns.map { column in
        switch type {
        case .columnOnly: "json_extract(\(sourceColumn), '$.\(column)')"
        case .columnInOperation: "\(column) = json_extract(\(sourceColumn), '$.\(column)')"
        }
    }.joined(separator: ", ")
}

/// Keeps a full-text index up to date with triggers on the internal table of a view.
func createFtsTables(
    db: any PowerSyncDatabaseProtocol,
    schema: Schema,
    tableName: String,
    columns: [String],
    tokenizationMethod: String = "unicode61"
) async throws {
    guard let table = schema.tables.first(where: { $0.name == tableName }) else { return }
    let internalName = table.localOnly ? "ps_data_local__\(table.name)" : "ps_data__\(table.name)"
    let ftsTableName = "fts_\(tableName)"
    let list = columns.joined(separator: ", ")
    let newValues = generateJsonExtracts(type: .columnOnly, sourceColumn: "NEW.data", columns: columns)
    let existing = generateJsonExtracts(type: .columnOnly, sourceColumn: "data", columns: columns)
    let changes = generateJsonExtracts(type: .columnInOperation, sourceColumn: "NEW.data", columns: columns)

    try await db.writeTransaction(callback: { transaction in
        let statements = [
            """
            CREATE VIRTUAL TABLE IF NOT EXISTS \(ftsTableName)
            USING fts5(id UNINDEXED, \(list), tokenize='\(tokenizationMethod)');
            """,
            "INSERT INTO \(ftsTableName)(rowid, id, \(list)) SELECT rowid, id, \(existing) FROM \(internalName);",
            """
            CREATE TRIGGER IF NOT EXISTS fts_insert_trigger_\(tableName) AFTER INSERT ON \(internalName)
            BEGIN
              INSERT INTO \(ftsTableName)(rowid, id, \(list)) VALUES (NEW.rowid, NEW.id, \(newValues));
            END;
            """,
            """
            CREATE TRIGGER IF NOT EXISTS fts_update_trigger_\(tableName) AFTER UPDATE ON \(internalName)
            BEGIN
              UPDATE \(ftsTableName) SET \(changes) WHERE rowid = NEW.rowid;
            END;
            """,
            """
            CREATE TRIGGER IF NOT EXISTS fts_delete_trigger_\(tableName) AFTER DELETE ON \(internalName)
            BEGIN
              DELETE FROM \(ftsTableName) WHERE rowid = OLD.rowid;
            END;
            """,
        ]
        for sql in statements {
            try transaction.execute(sql: sql, parameters: [])
        }
    })
}

/// The ids of the rows that match, best match first.
func search(_ term: String, in tableName: String, db: any PowerSyncDatabaseProtocol) async throws -> [String] {
    try await db.getAll(
        sql: "SELECT id FROM fts_\(tableName) WHERE fts_\(tableName) MATCH ? ORDER BY rank, id",
        parameters: [term + "*"]
    ) { try $0.getString(name: "id") }
}

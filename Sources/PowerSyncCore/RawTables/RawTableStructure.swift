import GRDB
import PowerSyncSQLite

/// The columns of a raw table as the database has them now (docs/database.md "Raw tables").
struct RawTableStructure {
    /// The name in SQLite.
    let tableName: String
    /// The synced columns besides `id`, in the order of the table.
    ///
    /// Generated and hidden columns are not among them.
    let columns: [String]

    /// Reads the structure of a raw table.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument` when the definition names no table, the table does not
    ///   exist, or it has no column `id`.
    init(_ db: Database, _ table: ClientRawTable) throws {
        let structure = try table.requireStructure()
        tableName = structure.tableName
        let names = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [tableName])
        guard !names.isEmpty else {
            throw LocalDatabaseError.invalidArgument("Could not find \(tableName) in local schema.")
        }
        let id = ExactText("id")
        guard names.contains(where: { ExactText($0) == id }) else {
            throw LocalDatabaseError.invalidArgument("Table \(tableName) has no id column.")
        }
        let synced = structure.syncedColumns.map { Set($0.map { ExactText($0) }) }
        columns = names.filter { name in
            let name = ExactText(name)
            return name != id && synced?.contains(name) ?? true
        }
    }

    /// The statement that writes a row, and leaves columns alone that are not synced.
    ///
    /// ```sql
    /// INSERT INTO "todos" ("id", "title") VALUES (?1, ?2) ON CONFLICT ("id") DO UPDATE SET "title" = ?2
    /// ```
    var put: ClientRawTable.Statement {
        statement(
            "\(insertion) ON CONFLICT (\"id\") DO \(assignments.isEmpty ? "NOTHING" : "UPDATE SET \(assignments)")"
        )
    }

    /// The statement that writes a row which is there, and leaves columns alone that are not synced.
    ///
    /// With ``insert``, it stands for ``put`` where triggers have conflict clauses, which SQLite ignores in an upsert.
    var update: ClientRawTable.Statement {
        let assignments = assignments.isEmpty ? "\"id\" = ?1" : assignments
        return statement("UPDATE \(SQLText.identifier(tableName)) SET \(assignments) WHERE \"id\" = ?1")
    }

    /// The statement that writes a row, unless it is there.
    var insert: ClientRawTable.Statement {
        statement("\(insertion) ON CONFLICT (\"id\") DO NOTHING")
    }

    private func statement(_ sql: String) -> ClientRawTable.Statement {
        ClientRawTable.Statement(sql: sql, parameters: [.id] + columns.map { .column($0) })
    }

    private var insertion: String {
        let names = (["id"] + columns).map(SQLText.identifier)
        let values = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
        return "INSERT INTO \(SQLText.identifier(tableName)) (\(names.joined(separator: ", "))) VALUES (\(values))"
    }

    private var assignments: String {
        zip(columns, 2...).map { "\(SQLText.identifier($0)) = ?\($1)" }.joined(separator: ", ")
    }

    /// The statement that deletes a row.
    var delete: ClientRawTable.Statement {
        ClientRawTable.Statement(
            sql: "DELETE FROM \(SQLText.identifier(tableName)) WHERE \"id\" = ?1",
            parameters: [.id]
        )
    }
}

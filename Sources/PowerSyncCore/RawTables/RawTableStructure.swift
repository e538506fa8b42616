import GRDB
import PowerSyncSQLite

/// The columns of a raw or direct table as the database has them now (docs/database.md "Raw tables").
struct RawTableStructure {
    /// The name in SQLite.
    let tableName: String
    /// The synced columns besides `id`, in the order of the table.
    ///
    /// Generated and hidden columns are not among them, nor are the columns of a direct table that take metadata and deletions.
    let columns: [String]
    /// Those whose values may be something that JSON cannot hold: in a direct table, they have the types that are declared.
    let uncheckedColumns: [String]
    /// The expressions for what is written to the columns.
    private let values: [String]
    private let parameters: [ClientRawTable.Parameter]

    /// Reads the structure of a raw table.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument` when the definition names no table, the table does not
    ///   exist, or it has no column `id`.
    init(_ db: Database, _ table: ClientRawTable) throws {
        let structure = try table.requireStructure()
        tableName = structure.tableName
        let table = try Row.fetchAll(
            db,
            sql: "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?)",
            arguments: [tableName]
        )
        let names = table.map { $0["name"] as String }
        guard !names.isEmpty else {
            throw LocalDatabaseError.invalidArgument("Could not find \(tableName) in local schema.")
        }
        let id = ExactText("id")
        guard names.contains(where: { ExactText($0) == id }) else {
            throw LocalDatabaseError.invalidArgument("Table \(tableName) has no id column.")
        }
        let synced = structure.syncedColumns.map { Set($0.map { ExactText($0) }) }
        let takesMetadata = structure.direct != nil && structure.options.tracksMetadata
        let written = table.filter { row in
            let name = ExactText(row["name"] as String)
            if takesMetadata, ClientTable.metadataColumns.contains(where: { ExactText($0) == name }) { return false }
            return name != id && synced?.contains(name) ?? true
        }
        columns = written.map { $0["name"] }
        uncheckedColumns =
            structure.direct == nil
            ? columns : written.filter { ($0["type"] as String).uppercased() == "REAL" }.map { $0["name"] }
        parameters = [.id] + columns.map { .column($0) }
        var values = columns.indices.map { "?\($0 + 2)" }
        if structure.direct != nil {
            for (index, row) in written.enumerated() {
                values[index] = "CAST(\(values[index]) AS \(row["type"] as String))"
                guard row["notnull"] as Int64? == 1, let value: String = row["dflt_value"] else { continue }
                values[index] = "ifnull(\(values[index]), (\(Self.expression(ofDefault: value))))"
            }
        }
        self.values = values
    }

    /// SQLite takes a name as a default for a text, `DEFAULT open` or `DEFAULT "open"`, which in an expression would be a column.
    static func expression(ofDefault text: String) -> String {
        var tokens = SQLTokens(text)
        guard let token = tokens.next(), tokens.next() == nil, let name = token.name else { return text }
        switch token.kind {
        case .quotedName:
            return SQLText.literal(name)
        case .word:
            let constants = ["TRUE", "FALSE", "NULL", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"]
            let isNumber = name.utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
            return isNumber || constants.contains(name.uppercased()) ? text : SQLText.literal(name)
        case .text, .symbol:
            return text
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
        ClientRawTable.Statement(sql: sql, parameters: parameters)
    }

    private var insertion: String {
        let names = (["id"] + columns).map(SQLText.identifier)
        let values = (["?1"] + values).joined(separator: ", ")
        return "INSERT INTO \(SQLText.identifier(tableName)) (\(names.joined(separator: ", "))) VALUES (\(values))"
    }

    private var assignments: String {
        zip(columns, values).map { "\(SQLText.identifier($0)) = \($1)" }.joined(separator: ", ")
    }

    /// The statement that deletes a row.
    var delete: ClientRawTable.Statement {
        ClientRawTable.Statement(
            sql: "DELETE FROM \(SQLText.identifier(tableName)) WHERE \"id\" = ?1",
            parameters: [.id]
        )
    }
}

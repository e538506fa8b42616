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
    /// The same as what ``TypedRowBinding`` binds; `nil` for a raw table, and where a column has a former name or a type of the app's.
    private let typedColumns: [TypedRowBinding.Column]?
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
        typedColumns = Self.typedColumns(structure, written)
    }

    private static func typedColumns(
        _ structure: ClientRawTable.Structure,
        _ rows: [Row]
    ) -> [TypedRowBinding.Column]? {
        guard let direct = structure.direct, direct.formerNames.isEmpty else { return nil }
        let columns = rows.compactMap { row -> TypedRowBinding.Column? in
            guard let kind = TypedRowBinding.Column.Kind(rawValue: (row["type"] as String).uppercased()) else {
                return nil
            }
            let hasDefault = row["notnull"] as Int64? == 1 && row["dflt_value"] as String? != nil
            return TypedRowBinding.Column(name: Array((row["name"] as String).utf8), kind: kind, needsValue: hasDefault)
        }
        return columns.count == rows.count ? columns : nil
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
    var put: ClientRawTable.Statement { statement(upsert(values)) }

    /// ``put`` without conversions, for rows whose values have the types of their columns, and the columns.
    var typedPut: (sql: String, columns: [TypedRowBinding.Column])? {
        typedColumns.map { (upsert(columns.indices.map { "?\($0 + 2)" }), $0) }
    }

    /// The statement that writes a row which is there, and leaves columns alone that are not synced.
    ///
    /// With ``insert``, it stands for ``put`` where triggers have conflict clauses, which SQLite ignores in an upsert.
    var update: ClientRawTable.Statement {
        let assignments = columns.isEmpty ? "\"id\" = ?1" : assignments(values)
        return statement("UPDATE \(SQLText.identifier(tableName)) SET \(assignments) WHERE \"id\" = ?1")
    }

    /// The statement that writes a row, unless it is there.
    var insert: ClientRawTable.Statement {
        statement("\(insertion(values)) ON CONFLICT (\"id\") DO NOTHING")
    }

    private func statement(_ sql: String) -> ClientRawTable.Statement {
        ClientRawTable.Statement(sql: sql, parameters: parameters)
    }

    private func upsert(_ values: [String]) -> String {
        let action = columns.isEmpty ? "NOTHING" : "UPDATE SET \(assignments(values))"
        return "\(insertion(values)) ON CONFLICT (\"id\") DO \(action)"
    }

    private func insertion(_ values: [String]) -> String {
        let names = (["id"] + columns).map(SQLText.identifier)
        let values = (["?1"] + values).joined(separator: ", ")
        return "INSERT INTO \(SQLText.identifier(tableName)) (\(names.joined(separator: ", "))) VALUES (\(values))"
    }

    private func assignments(_ values: [String]) -> String {
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

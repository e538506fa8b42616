import PowerSyncSQLite

/// The view of a client table and its triggers, as SQL text (docs/database.md "Views").
///
/// The text is canonical: it is compared with `sqlite_master` byte by byte, here and by other implementations, and the
/// objects are created anew when anything differs. Do not "improve" a space.
///
/// ```sql
/// CREATE VIEW "lists"("id", "name") AS
///   SELECT id, CAST(json_extract(data, '$.name') as text) FROM "ps_data__lists" -- powersync-auto-generated
/// ```
/// (in one line).
struct ViewDefinition {
    /// A trigger of the view.
    struct Trigger: Equatable {
        let name: String
        let sql: String

        static func == (lhs: Trigger, rhs: Trigger) -> Bool {
            ExactText(lhs.name) == ExactText(rhs.name) && ExactText(lhs.sql) == ExactText(rhs.sql)
        }
    }

    /// The comment by which views of ours are known.
    static let marker = "-- powersync-auto-generated"

    /// The view's name.
    let name: String
    /// The text of the view.
    let sql: String
    /// The triggers in the order of their creation: delete, second delete, insert, update.
    let triggers: [Trigger]

    /// Builds the texts for a table.
    init(_ table: ClientTable) {
        name = table.viewName
        sql = Self.viewSQL(table)
        triggers = TriggerText(table).triggers
    }

    private static func viewSQL(_ table: ClientTable) -> String {
        var names = SQLText.identifier("id")
        var values = "id"
        for column in table.columns {
            names += ", "
            names += SQLText.identifier(column.name)
            values += ", "
            values += extraction(of: column.name, as: column.type)
        }
        if table.tracksMetadata {
            for column in ClientTable.metadataColumns {
                names += ", \(SQLText.identifier(column))"
                values += ", NULL"
            }
        }
        let view = SQLText.identifier(table.viewName)
        return
            "CREATE VIEW \(view)(\(names)) AS SELECT \(values) FROM \(SQLText.identifier(table.internalName)) \(marker)"
    }

    /// The expression for a column's value.
    ///
    /// Indexes use the same text, or the planner would not recognise them.
    static func extraction(of column: String, as type: ColumnType, from data: String = "data") -> String {
        "CAST(json_extract(\(data), \(SQLText.literal(path(of: column)))) as \(type.rawValue))"
    }

    /// The JSON path to the member with the name of a column.
    ///
    /// In quotes only where a name without them would be a longer path: the text is that of other implementations.
    static func path(of column: String) -> String {
        let isPlain = !column.isEmpty && !column.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }
        return isPlain ? "$.\(column)" : "$.\"\(column)\""
    }
}

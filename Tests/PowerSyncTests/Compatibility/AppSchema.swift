import PowerSync

// The data layer of an app, as its author would write it for the established SDK. The files of this folder whose
// names begin with `App` import nothing of ours but `PowerSync`.

let LISTS_TABLE = "lists"
let TODOS_TABLE = "todos"

/// The tables of the app, with every option that a table can have.
let AppSchema = Schema(
    tables: [
        Table(
            name: LISTS_TABLE,
            columns: [
                // The id column is implicit.
                .text("name"),
                .text("created_at"),
                .text("owner_id"),
            ]
        ),
        Table(
            name: TODOS_TABLE,
            columns: [
                Column.text("list_id"),
                Column.text("photo_id"),
                Column.text("description"),
                Column.integer("completed"),
                Column(name: "estimate", type: .real),
                .text("created_at"),
                .text("completed_at"),
            ],
            indexes: [
                Index(name: "list_id", columns: [IndexedColumn.ascending("list_id")]),
                Index(
                    name: "by_completion",
                    IndexedColumn(column: "completed", ascending: false),
                    IndexedColumn.descending("completed_at")
                ),
                Index.ascending(name: "photo", column: "photo_id"),
                .ascending(name: "list_and_photo", columns: ["list_id", "photo_id"]),
            ],
            localOnly: false,
            insertOnly: false,
            viewNameOverride: nil,
            trackMetadata: true,
            trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["description"], onlyWhenChanged: true),
            ignoreEmptyUpdates: true
        ),
        Table(name: "drafts", columns: [.text("body")], localOnly: true, viewNameOverride: "local_drafts"),
        Table(name: "logs", columns: [.text("line")], insertOnly: true),
    ]
)

/// What a settings screen lists: a function over the protocols, not the types.
func describe(_ schema: any SchemaProtocol) -> [String] {
    schema.tables.map { (table: any TableProtocol) -> String in
        let columns = table.columns.map { (column: Column) -> String in
            switch column.type {
            case .text: "\(column.name) text"
            case .integer: "\(column.name) integer"
            case .real: "\(column.name) real"
            }
        }
        let indexes = table.indexes.map { (index: any IndexProtocol) in
            index.columns.map { $0.ascending ? $0.column : "-" + $0.column }.joined(separator: "+")
        }
        let options: any TableOptionsProtocol = table
        // Statement by statement: Swift 6.2 gives up on one expression.
        var text = [table.viewName, columns.joined(separator: ","), indexes.joined(separator: ",")]
            .joined(separator: " ")
        if options.localOnly { text += " local" }
        if options.insertOnly { text += " insert-only" }
        if options.trackMetadata { text += " metadata" }
        if options.ignoreEmptyUpdates { text += " ignoring" }
        if let old = options.trackPreviousValues?.columnFilter { text += " old \(old.joined())" }
        return text
    }
}

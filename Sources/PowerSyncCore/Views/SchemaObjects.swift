import GRDB
import PowerSyncSQLite

/// What exists in a database of the things that a client schema describes (docs/database.md "Applying a schema").
struct SchemaObjects {
    /// A view of ours with its triggers.
    struct View {
        var sql: String
        var triggers: [ViewDefinition.Trigger] = []
    }

    /// The data tables.
    var tables: Set<DataTable> = []
    /// The text of every index named `ps_data_*`, by name.
    private(set) var indexes: [ExactText: String] = [:]
    /// The direct tables.
    private(set) var directTables: [StoredDirectTable] = []
    /// Our views, by name.
    private(set) var views: [ExactText: View] = [:]

    /// Reads everything with one statement, which is closed before any object is created or dropped.
    static func fetch(_ db: Database) throws -> SchemaObjects {
        var objects = SchemaObjects()
        // Rows are not sorted, which would copy all texts; so a trigger may come before its view.
        var triggers: [(view: ExactText, trigger: ViewDefinition.Trigger)] = []
        var directObjects: [(table: ExactText, type: String, name: String, sql: String)] = []
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM sqlite_master
                WHERE (type IN ('table', 'index') AND name GLOB 'ps_data_*')
                   OR (type = 'view' AND sql GLOB '*\(ViewDefinition.marker)')
                   OR (type = 'trigger' AND (name GLOB 'ps_view_insert*' OR name GLOB 'ps_view_update*'
                       OR name GLOB 'ps_view_delete*'))
                   OR (\(StoredDirectTable.isDirect))
                   OR (type IN ('index', 'trigger') AND name GLOB '\(StoredDirectTable.namePrefix)*')
                """
        )
        while let row = try rows.next() {
            let type: String = try row.stored(0, "sqlite_master.type")
            let name: String = try row.stored(1, "sqlite_master.name")
            // NULL for indexes that SQLite made itself.
            let text: String? = try row.stored(3, "sqlite_master.sql")
            let sql = text ?? ""
            switch type {
            case "table":
                if let table = DataTable(internalName: name) {
                    objects.tables.insert(table)
                } else if StoredDirectTable.isText(ofDirectTable: sql) {
                    objects.directTables.append(StoredDirectTable(name: name, sql: sql))
                }
            case "view":
                objects.views[ExactText(name)] = View(sql: sql)
            case _ where name.utf8.starts(with: StoredDirectTable.namePrefix.utf8):
                let table: String = try row.stored(2, "sqlite_master.tbl_name")
                directObjects.append((ExactText(table), type, name, sql))
            case "index":
                objects.indexes[ExactText(name)] = sql
            default:
                let view: String = try row.stored(2, "sqlite_master.tbl_name")
                triggers.append((ExactText(view), ViewDefinition.Trigger(name: name, sql: sql)))
            }
        }
        for (view, trigger) in triggers {
            objects.views[view]?.triggers.append(trigger)
        }
        for index in objects.directTables.indices {
            let table = ExactText(objects.directTables[index].name)
            for object in directObjects where object.table == table {
                objects.directTables[index].objects[ExactText(object.name)] = (object.type, object.sql)
            }
        }
        return objects
    }
}

extension SchemaObjects.View {
    /// Whether the view is exactly what the schema wants.
    func matches(_ wanted: ViewDefinition) -> Bool {
        guard ExactText(sql) == ExactText(wanted.sql), triggers.count == wanted.triggers.count else { return false }
        return wanted.triggers.allSatisfy(triggers.contains)
    }
}

import PowerSyncSQLite

/// The text of the triggers that turn writes to a view into row and queue statements
/// (docs/database.md "Triggers of views").
struct TriggerText {
    private let table: ClientTable
    private let view: String
    private let internalTable: String
    private let values: ViewRowValues
    private let queue: QueueStatement

    init(_ table: ClientTable) {
        self.table = table
        view = table.viewName
        internalTable = SQLText.identifier(table.internalName)
        let columns = table.columns.map(\.name)
        values = ViewRowValues(table: table.name, columns: columns)
        queue = QueueStatement(
            type: table.name,
            columns: columns,
            values: values,
            options: table.options,
            hasMetadata: table.tracksMetadata
        )
    }

    /// The triggers that the kind of table has, in the order of their creation.
    var triggers: [ViewDefinition.Trigger] {
        if table.isLocalOnly {
            return [delete, insert, update]
        }
        if table.isInsertOnly {
            return [insert]
        }
        return table.tracksMetadata ? [delete, deleteByUpdate, insert, update] : [delete, insert, update]
    }

    /// Whether a trigger is one of these, of any table, and not one of another implementation.
    static func isOurs(_ trigger: ViewDefinition.Trigger) -> Bool {
        trigger.sql.contains("powersync_row(") || trigger.sql.contains("powersync_changes(")
    }

    // MARK: - One trigger per event

    private var insert: ViewDefinition.Trigger {
        trigger("ps_view_insert_", "INSERT") {
            if table.isInsertOnly, !table.isLocalOnly {
                return "BEGIN\n\(Self.idIsText)\(queue.insertOnlyPut)\n\(count("1"))"
            }
            let row = storing(values.insertedRow)
            let storeRow = "INSERT INTO \(internalTable) SELECT NEW.id, \(row);\n"
            if table.isLocalOnly {
                return "BEGIN\n\(storeRow)\(count("changes()"))"
            }
            let unchanged = table.options.ignoresEmptyUpdates ? queue.unchanged(in: SQLText.identifier(view)) : ""
            return "BEGIN\n\(Self.idIsText)\(unchanged)\(storeRow)\(queue.put(if: counted("changes()")))"
        }
    }

    private var update: ViewDefinition.Trigger {
        trigger("ps_view_update_", "UPDATE") {
            // The leading space is part of the canonical text.
            var sql = table.tracksMetadata ? " WHEN NEW._deleted IS NOT TRUE BEGIN\n" : "BEGIN\n"
            sql += QueueStatement.idIsUnchanged(orElse: .fail)
            sql += "UPDATE \(internalTable) SET data = \(storing(values.updatedRow)) WHERE id = NEW.id;\n"
            // The queue refuses an id that is NULL.
            let isQueued = "\(counted("changes()")) OR NEW.id IS NULL"
            return sql + (table.isLocalOnly ? count("changes()") : queue.patch(if: isQueued))
        }
    }

    private var delete: ViewDefinition.Trigger {
        trigger("ps_view_delete_", "DELETE") {
            let sql = "BEGIN\n\(deleteRow);\n"
            return sql + (table.isLocalOnly ? count("changes()") : queue.delete(if: counted(isGone)))
        }
    }

    /// `UPDATE … SET _deleted = TRUE, _metadata = …` is how an application attaches metadata to a delete.
    private var deleteByUpdate: ViewDefinition.Trigger {
        trigger("ps_view_delete2_", "UPDATE") {
            "WHEN NEW._deleted IS TRUE BEGIN \(deleteRow); \(queue.deleteWithMetadata(if: counted(isGone)))"
        }
    }

    private var deleteRow: String { "DELETE FROM \(internalTable) WHERE id = OLD.id" }

    /// Whether the row was removed, by this statement or, before it, by a cascade.
    private var isGone: String { "NOT EXISTS (SELECT 1 FROM \(internalTable) WHERE id = OLD.id)" }

    /// The value of a row that is stored, for which the rows that it may remove are noted first.
    private func storing(_ row: String) -> String {
        guard !table.isLocalOnly else { return row }
        var arguments = [SQLText.literal(table.name), "NEW.id", row]
        if let query = queue.previousValues(in: view) { arguments.append(SQLText.literal(query)) }
        return "powersync_stored(\(arguments.joined(separator: ", ")))"
    }

    /// An expression for how many rows of the view a trigger has changed, which is counted with it.
    private func counted(_ count: String) -> String {
        "powersync_changed(\(SQLText.literal(view)), \(count))"
    }

    private func count(_ count: String) -> String { "SELECT \(counted(count));\n" }

    // MARK: - Parts

    private func trigger(_ prefix: String, _ event: String, _ body: () -> String) -> ViewDefinition.Trigger {
        let name = prefix + view
        let head = "CREATE TRIGGER \(SQLText.identifier(name)) INSTEAD OF \(event) ON \(SQLText.identifier(view))"
        return ViewDefinition.Trigger(name: name, sql: "\(head) FOR EACH ROW \(body())END")
    }

    private static let idIsText = """
        SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') \
        WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;

        """
}

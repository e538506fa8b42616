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
            let storeRow = "INSERT INTO \(internalTable) SELECT NEW.id, \(values.insertedRow);\n"
            if table.isLocalOnly {
                return "BEGIN\n\(storeRow)"
            }
            if table.isInsertOnly {
                return "BEGIN\n\(Self.idIsText)\(queue.insertOnlyPut)"
            }
            return "BEGIN\n\(Self.idIsText)\(storeRow)\(queue.put)"
        }
    }

    private var update: ViewDefinition.Trigger {
        trigger("ps_view_update_", "UPDATE") {
            // The leading space is part of the canonical text.
            var sql = table.tracksMetadata ? " WHEN NEW._deleted IS NOT TRUE BEGIN\n" : "BEGIN\n"
            sql += QueueStatement.idIsUnchanged(orElse: .fail)
            sql += "UPDATE \(internalTable) SET data = \(values.updatedRow) WHERE id = NEW.id;\n"
            return table.isLocalOnly ? sql : sql + queue.patch
        }
    }

    private var delete: ViewDefinition.Trigger {
        trigger("ps_view_delete_", "DELETE") {
            let sql = "BEGIN\nDELETE FROM \(internalTable) WHERE id = OLD.id;\n"
            return table.isLocalOnly ? sql : sql + queue.delete
        }
    }

    /// `UPDATE … SET _deleted = TRUE, _metadata = …` is how an application attaches metadata to a delete.
    private var deleteByUpdate: ViewDefinition.Trigger {
        trigger("ps_view_delete2_", "UPDATE") {
            "WHEN NEW._deleted IS TRUE BEGIN DELETE FROM \(internalTable) WHERE id = OLD.id; "
                + queue.deleteWithMetadata
        }
    }

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

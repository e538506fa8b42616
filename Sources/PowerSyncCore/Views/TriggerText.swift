/// The text of the triggers that turn writes to a view into row and queue statements (`database.md` 12, appendix A).
struct TriggerText {
    private let table: ClientTable
    private let view: String
    private let internalTable: String
    private let type: String
    private let object: RowObject
    private let newRow: String

    init(_ table: ClientTable) {
        self.table = table
        view = table.viewName
        internalTable = SQLText.identifier(table.internalName)
        type = SQLText.literal(table.name)
        object = RowObject(columns: table.columns.map(\.name))
        newRow = object.sql("NEW")
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

    // MARK: - One trigger per event

    private var insert: ViewDefinition.Trigger {
        trigger("ps_view_insert_", "INSERT") {
            let put = Self.difference("'{}'", newRow)
            let storeRow = "INSERT INTO \(internalTable) SELECT NEW.id, \(newRow);\n"
            if table.isLocalOnly {
                return "BEGIN\n\(storeRow)"
            }
            if table.isInsertOnly {
                let entry = "json_object('op', 'PUT', 'type', \(type), 'id', NEW.id, 'data', \(put))"
                return "BEGIN\n\(Self.idIsText)INSERT INTO powersync_crud_(data) VALUES(\(entry));"
            }
            var members = [("op", "'PUT'"), ("id", "NEW.id"), ("type", type), ("data", put)]
            if table.tracksMetadata {
                members.append(("metadata", "NEW._metadata"))
            }
            return "BEGIN\n\(Self.idIsText)\(storeRow)\(Self.queue(members))"
        }
    }

    private var update: ViewDefinition.Trigger {
        trigger("ps_view_update_", "UPDATE") {
            // The leading space is part of the canonical text.
            var sql = table.tracksMetadata ? " WHEN NEW._deleted IS NOT TRUE BEGIN\n" : "BEGIN\n"
            sql += "SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;\n"
            sql += "UPDATE \(internalTable) SET data = \(newRow) WHERE id = NEW.id;\n"
            guard !table.isLocalOnly else { return sql }
            let patch = Self.difference(object.sql("OLD"), newRow)
            var members = [("op", "'PATCH'"), ("id", "NEW.id"), ("type", type), ("data", patch)]
            if let previous = previousValues {
                if table.trackPreviousValues?.onlyWhenChanged == true {
                    // Swapped on purpose: the result has the old values.
                    members.append(("old_values", Self.difference(previous.sql("NEW"), previous.sql("OLD"))))
                } else {
                    members.append(("old_values", previous.sql("OLD")))
                }
            }
            if table.tracksMetadata {
                members.append(("metadata", "NEW._metadata"))
            }
            members.append(("options", String(table.flags.rawValue)))
            return sql + Self.queue(members)
        }
    }

    private var delete: ViewDefinition.Trigger {
        trigger("ps_view_delete_", "DELETE") {
            let sql = "BEGIN\nDELETE FROM \(internalTable) WHERE id = OLD.id;\n"
            return table.isLocalOnly ? sql : sql + Self.queue(deleteMembers)
        }
    }

    /// `UPDATE … SET _deleted = TRUE, _metadata = …` is how an application attaches metadata to a delete.
    private var deleteByUpdate: ViewDefinition.Trigger {
        trigger("ps_view_delete2_", "UPDATE") {
            "WHEN NEW._deleted IS TRUE BEGIN DELETE FROM \(internalTable) WHERE id = OLD.id; "
                + Self.queue(deleteMembers + [("metadata", "NEW._metadata")])
        }
    }

    // MARK: - Parts

    private var deleteMembers: [(String, String)] {
        var members = [("op", "'DELETE'"), ("id", "OLD.id"), ("type", type)]
        if let previousValues {
            members.append(("old_values", previousValues.sql("OLD")))
        }
        return members
    }

    private var previousValues: RowObject? {
        guard let options = table.trackPreviousValues else { return nil }
        guard let filter = options.columns else { return object }
        let names = Set(filter.map(ExactText.init))
        return RowObject(columns: object.columns.filter { names.contains(ExactText($0)) })
    }

    private func trigger(_ prefix: String, _ event: String, _ body: () -> String) -> ViewDefinition.Trigger {
        let name = prefix + view
        let head = "CREATE TRIGGER \(SQLText.identifier(name)) INSTEAD OF \(event) ON \(SQLText.identifier(view))"
        return ViewDefinition.Trigger(name: name, sql: "\(head) FOR EACH ROW \(body())END")
    }

    private static let idIsText = """
        SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') \
        WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;

        """

    private static func difference(_ old: String, _ new: String) -> String {
        "json(powersync_diff(\(old), \(new)))"
    }

    private static func queue(_ members: [(String, String)]) -> String {
        let columns = members.map(\.0).joined(separator: ",")
        let values = members.map(\.1).joined(separator: ", ")
        return "INSERT INTO powersync_crud(\(columns)) VALUES (\(values));\n"
    }
}

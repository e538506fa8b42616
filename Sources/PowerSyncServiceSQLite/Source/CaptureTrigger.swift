import GRDB
import PowerSyncSQLite
import PowerSyncServiceCore

/// One of the triggers that write to `_ps_log`; see ``ChangeCapture`` for what they do.
struct CaptureTrigger: Hashable {
    /// The name, `_ps_capture_<table id>_<event>`.
    var name: String
    /// The table it belongs to.
    var table: String
    /// The `CREATE TRIGGER` statement, as SQLite keeps it.
    var sql: String

    /// The capture triggers that a file has.
    static func existing(_ db: Database) throws -> [CaptureTrigger] {
        try Row.fetchAll(
            db,
            sql: "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' AND name GLOB '_ps_capture_*'"
        )
        .map { CaptureTrigger(name: $0["name"], table: $0["tbl_name"], sql: $0["sql"]) }
    }

    /// Whether the triggers of a table have been capturing all changes: they vanish with the table they belong to.
    static func isComplete(_ triggers: [CaptureTrigger], tableID: Int64) -> Bool {
        ["insert", "update", "delete"].allSatisfy { event in
            triggers.contains { $0.name == "_ps_capture_\(tableID)_\(event)" }
        }
    }

    /// The triggers that a table needs.
    static func all(tableID: Int64, definition: TableDefinition) -> [CaptureTrigger] {
        let table = definition.name
        let key = definition.key.map { SQLText.identifier($0.name) }
        let into = "INSERT INTO _ps_log (table_id, \(key.indices.map { "k\($0)" }.joined(separator: ", ")))"
        func values(_ row: String) -> String { key.map { "\(row).\($0)" }.joined(separator: ", ") }
        func trigger(
            _ event: String,
            _ timing: String,
            _ body: String,
            when condition: String? = nil
        ) -> CaptureTrigger {
            let name = "_ps_capture_\(tableID)_\(event)"
            let when = condition.map { " WHEN \($0)" } ?? ""
            let sql = """
                CREATE TRIGGER \(name) \(timing) ON \(SQLText.identifier(table))\(when) BEGIN
                \(body)
                END
                """
            return CaptureTrigger(name: name, table: table, sql: sql)
        }

        let new = "\(into) VALUES (\(tableID), \(values("NEW")));"
        let old = "\(into) VALUES (\(tableID), \(values("OLD")));"
        // 1 and 1.0 are equal, and so are 'a' and 'A' under some collations, but they identify different rows.
        let keyChanges = key.map {
            "OLD.\($0) IS NOT NEW.\($0) COLLATE BINARY OR typeof(OLD.\($0)) <> typeof(NEW.\($0))"
        }
        let oldIfChanged = "\(into) SELECT \(tableID), \(values("OLD")) WHERE \(keyChanges.joined(separator: " OR "));"
        var triggers = [
            trigger("insert", "AFTER INSERT", new),
            trigger("update", "AFTER UPDATE", "\(oldIfChanged)\n\(new)"),
            trigger("delete", "AFTER DELETE", old),
        ]
        let isOther = "NOT (\(key.map { "\($0) IS OLD.\($0)" }.joined(separator: " AND ")))"
        func others(_ condition: String) -> String {
            "\(into) SELECT \(tableID), \(key.joined(separator: ", ")) FROM \(SQLText.identifier(table)) WHERE \(condition);"
        }
        for (index, unique) in definition.uniqueIndexes.enumerated() {
            let isReplaced = isReplaced(unique, in: definition)
            triggers.append(trigger("replacing_insert\(index)", "BEFORE INSERT", others(isReplaced)))
            let columns = unique.columns.map { " OF \($0.map(SQLText.identifier).joined(separator: ", "))" } ?? ""
            let body = others("\(isReplaced) AND \(isOther)")
            triggers.append(trigger("replacing_update\(index)", "BEFORE UPDATE\(columns)", body))
        }
        if let rowID = definition.rowID {
            let body = others("\(rowID) = NEW.\(rowID)")
            // A number that is not written is -1 here.
            triggers.append(trigger("replacing_rowid_insert", "BEFORE INSERT", body, when: "NEW.\(rowID) <> -1"))
            let isChanged = "NEW.\(rowID) <> OLD.\(rowID)"
            triggers.append(trigger("replacing_rowid_update", "BEFORE UPDATE", body, when: isChanged))
        }
        return triggers
    }

    /// Whether a row of the table is in the way of the row that is written, in SQL.
    private static func isReplaced(_ index: UniqueIndex, in definition: TableDefinition) -> String {
        func new(_ column: String) -> String {
            let value = "NEW.\(SQLText.identifier(column))"
            return definition.defaults[column].map { "coalesce(\(value), \($0))" } ?? value
        }
        let terms = index.terms.map { term in
            let collated = "(\(term.expression)\n) COLLATE \(SQLText.identifier(term.collation))"
            if let column = term.column { return "\(collated) = \(new(column))" }
            // In there, the names of columns are those of the new row.
            let row = definition.columns.map { "\(new($0)) AS \(SQLText.identifier($0))" }
            return "\(collated) = (SELECT \(term.expression)\n FROM (SELECT \(row.joined(separator: ", "))))"
        }
        return ((index.condition.map { ["(\($0)\n)"] } ?? []) + terms).joined(separator: " AND ")
    }

    /// Creates the trigger.
    func create(_ db: Database) throws {
        try db.execute(sql: sql)
    }

    /// Drops the trigger.
    func drop(_ db: Database) throws {
        try db.execute(sql: "DROP TRIGGER \(SQLText.identifier(name))")
    }
}

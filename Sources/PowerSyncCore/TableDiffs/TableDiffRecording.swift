package import GRDB
import PowerSyncSQLite

/// The temporary tables and triggers that record the changes to a client table.
///
/// They exist on the writer's connection only, which makes all writes of a database. `n` tells several apart:
///
/// | Object | What it is |
/// | --- | --- |
/// | `ps_diff_n` | the recorded changes, see ``createDestination`` |
/// | `ps_diff_n_replaced` | the row that the statement at work is about to replace, or nothing; and its recorded deletion |
/// | `ps_diff_n_replace` | before an insertion: keeps the row of the same id |
/// | `ps_diff_n_insert`, `_update`, `_delete` | after a change: records it |
/// | `ps_diff_n_merge` | after an insertion: brings the replaced row up to date, and forgets its deletion |
/// | `ps_diff_n_merged` | after that: records it as an update |
///
/// Synced rows are written with `REPLACE`, whether they are new or not. SQLite fires triggers for the insertion only, so
/// without the kept row every synced update would look like an insertion. A row that is replaced by one with the same
/// text has not changed. With `PRAGMA recursive_triggers = ON`, which an app may set on connections of its own, SQLite fires
/// triggers for the deletion of the replaced row as well; what they record is taken back.
package struct TableDiffRecording: Sendable {
    /// What the names of all objects start with.
    static let namePrefix = "ps_diff_"

    /// What is recorded.
    package let definition: TableDiffDefinition
    private let name: String

    /// Describes objects that do not exist yet.
    ///
    /// - Parameters:
    ///   - definition: What is recorded.
    ///   - number: Tells the recordings of a connection apart.
    package init(_ definition: TableDiffDefinition, number: Int) {
        self.definition = definition
        name = "\(TableDiffRecording.namePrefix)\(number)"
    }

    /// Begins to record.
    ///
    /// Call it inside a transaction of the writer.
    ///
    /// - Throws: ``TableDiffDefinition/Problem/invalidCondition(_:_:)``, or GRDB's `DatabaseError`. Roll back then.
    package func create(_ db: Database) throws {
        try db.execute(sql: createDestination)
        for operation in TableDiffDefinition.Operation.allCases {
            guard let condition = definition.condition(of: operation, in: definition.data) else { continue }
            do {
                try db.execute(sql: recordingTrigger(operation, condition))
                // Names are looked up when the trigger is compiled into a statement, so that is done now.
                _ = try db.makeStatement(sql: probe(operation))
            } catch let error as DatabaseError {
                throw TableDiffDefinition.Problem.invalidCondition(operation, error)
            }
        }
        try db.execute(sql: createReplacement)
    }

    /// Ends recording and forgets what was recorded.
    ///
    /// Does nothing if nothing is recorded any more.
    package func drop(_ db: Database) throws {
        let triggers = ["replace", "insert", "update", "delete", "merge", "merged"].map { trigger in
            "DROP TRIGGER IF EXISTS temp.\(SQLText.identifier("\(name)_\(trigger)"));"
        }
        try db.execute(
            sql: """
                \(triggers.joined(separator: "\n"))
                DROP TABLE IF EXISTS temp.\(SQLText.identifier("\(name)_replaced"));
                DROP TABLE IF EXISTS temp.\(destination);
                """
        )
    }

    // MARK: - Recorded changes

    /// The position of the last recorded change, `nil` when there is none.
    package func lastOperationID(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(operation_id) FROM temp.\(destination)"))
    }

    /// Forgets recorded changes.
    ///
    /// - Parameters:
    ///   - db: The writer.
    ///   - position: The last one to forget; all before it go too.
    /// - Throws: GRDB's `DatabaseError`.
    package func remove(_ db: Database, through position: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM temp.\(destination) WHERE operation_id <= ?")
            .execute(arguments: [position])
    }

    /// A query for recorded changes as they are stored, in their order.
    package func storedChanges(through position: Int64) -> String {
        """
        SELECT operation_id, id, operation, timestamp, value, previous_value
        FROM temp.\(destination) WHERE operation_id <= \(position) ORDER BY operation_id
        """
    }

    /// A query for recorded changes with the recorded columns of the row, in their order.
    ///
    /// `id` is the row's; what is known about the change has names that start with `__`. The view may have columns of the names
    /// that we have in the query: for ORDER BY a name alone is first of all that of a result.
    package func extractedChanges(through position: Int64) -> String {
        let recorded = definition.columns.map(Set.init)
        let columns = definition.table.columns.filter { recorded?.contains($0.name) ?? true }.map { column in
            let value = ViewDefinition.extraction(of: column.name, as: column.type, from: "value")
            return "\(value) AS \(SQLText.identifier(column.name)), "
        }
        return """
            SELECT id, \(columns.joined())operation_id AS __operation_id, operation AS __operation,
            timestamp AS __timestamp, previous_value AS __previous_value
            FROM temp.\(destination) AS recorded
            WHERE recorded.operation_id <= \(position) ORDER BY recorded.operation_id
            """
    }

    // MARK: - SQL text

    private typealias Operation = TableDiffDefinition.Operation

    private var destination: String { SQLText.identifier(name) }
    private var replaced: String { SQLText.identifier("\(name)_replaced") }
    private var dataTable: String { "main.\(SQLText.identifier(definition.table.internalName))" }

    /// The table of recorded changes.
    ///
    /// `value` is the new row, of a deletion the old one; `previous_value` is the old row of an update. Both are JSON
    /// objects. The time is UTC, ISO 8601 with milliseconds.
    private var createDestination: String {
        """
        CREATE TEMP TABLE \(destination)(
            operation_id INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT,
            operation TEXT,
            timestamp TEXT,
            value TEXT,
            previous_value TEXT
        );
        CREATE TEMP TABLE \(replaced)(id TEXT PRIMARY KEY NOT NULL, data TEXT, deletion INTEGER);
        """
    }

    private func recordingTrigger(_ operation: Operation, _ condition: String) -> String {
        let condition =
            operation == .insert
            ? "NOT EXISTS (SELECT 1 FROM \(replaced) WHERE id = NEW.id) AND \(condition)" : condition
        return trigger(operation.rawValue.lowercased(), "AFTER \(operation.rawValue) ON \(dataTable)", when: condition)
        {
            guard operation == .delete else { return recordingStatement(operation, in: definition.data) }
            return recordingStatement(operation, in: definition.data)
                + "UPDATE \(replaced) SET deletion = last_insert_rowid() WHERE id = OLD.id;"
        }
    }

    private var createReplacement: String {
        var sql = trigger("replace", "BEFORE INSERT ON \(dataTable)") {
            """
            DELETE FROM \(replaced);
            INSERT INTO \(replaced)(id, data)
            SELECT id, \(definition.data(of: "ps_old"))
            FROM \(SQLText.identifier(definition.table.internalName)) AS ps_old WHERE id = NEW.id;
            """
        }
        let data = definition.data(of: "NEW")
        sql += trigger("merge", "AFTER INSERT ON \(dataTable)") {
            """
            DELETE FROM \(destination) WHERE operation_id = (SELECT deletion FROM \(replaced) WHERE id = NEW.id);
            UPDATE \(replaced) SET data = \(data) WHERE id = NEW.id AND data IS NOT \(data);
            """
        }
        let keptRow = { (row: String) in "\(row).data" }
        guard let condition = definition.condition(of: .update, in: keptRow) else { return sql }
        sql += trigger("merged", "AFTER UPDATE OF data ON temp.\(replaced)", when: condition) {
            recordingStatement(.update, in: keptRow)
        }
        return sql
    }

    private func trigger(
        _ suffix: String,
        _ event: String,
        when condition: String? = nil,
        _ body: () -> String
    ) -> String {
        let name = SQLText.identifier("\(name)_\(suffix)")
        let condition = condition.map { "WHEN \($0)" } ?? ""
        return "CREATE TEMP TRIGGER \(name) \(event) \(condition) BEGIN\n\(body())\nEND;\n"
    }

    private func recordingStatement(_ operation: Operation, in data: (_ row: String) -> String) -> String {
        let row = operation == .delete ? "OLD" : "NEW"
        let previous = operation == .update ? definition.recordedValue(in: data("OLD")) : "NULL"
        return """
            INSERT INTO \(destination)(id, operation, timestamp, value, previous_value)
            VALUES (
                \(row).id,
                '\(operation.rawValue)',
                strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
                \(definition.recordedValue(in: data(row))),
                \(previous)
            );
            """
    }

    /// A statement that fires the trigger of an operation.
    private func probe(_ operation: Operation) -> String {
        switch operation {
        case .insert: "INSERT INTO \(dataTable)(id) VALUES ('')"
        case .update: "UPDATE \(dataTable) SET \(definition.table.isDirect ? "id = id" : "data = NULL")"
        case .delete: "DELETE FROM \(dataTable)"
        }
    }
}

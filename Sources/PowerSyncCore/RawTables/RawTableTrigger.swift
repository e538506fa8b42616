import GRDB
import PowerSyncSQLite

/// A trigger that records local writes to a raw table in the upload queue (docs/database.md "Raw tables").
///
/// ```sql
/// CREATE TRIGGER "todos_update" AFTER UPDATE ON "local_todos" FOR EACH ROW WHEN NOT powersync_in_sync_operation() AND
/// (OLD.id, OLD."title") IS NOT (NEW.id, NEW."title") BEGIN
/// SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (ABORT, 'Cannot update id') END;
/// INSERT INTO powersync_crud(op,id,type,data,options) VALUES ('PATCH', NEW.id, 'todos', …, 0);
/// END
/// ```
///
/// It names the columns that the table has when the trigger is made. What it refuses it refuses with ABORT, because the row is
/// written already: the whole statement is undone.
struct RawTableTrigger {
    /// The kind of write that a trigger records.
    enum Write: String {
        case insert = "INSERT"
        case update = "UPDATE"
        case delete = "DELETE"
    }

    /// The `CREATE TRIGGER` statement.
    let sql: String

    /// Builds the statement for the table as it is now.
    ///
    /// - Parameters:
    ///   - name: The trigger's name.
    ///   - write: What it records.
    ///   - table: The raw table.
    ///   - db: A connection that can see the table.
    /// - Throws: ``LocalDatabaseError`` as ``RawTableStructure/init(_:_:)``, and when an update trigger has no synced
    ///   column to look at.
    init(name: String, write: Write, of table: ClientRawTable, _ db: Database) throws {
        let options = try table.requireStructure().options
        let structure = try RawTableStructure(table, db)
        let queue = QueueStatement(
            type: table.name,
            columns: structure.columns,
            values: RawTableRowValues(columns: structure.columns),
            options: options,
            hasMetadata: false
        )
        sql = """
            CREATE TRIGGER \(SQLText.identifier(name)) AFTER \(write.rawValue) \
            ON \(SQLText.identifier(structure.tableName)) FOR EACH ROW WHEN NOT powersync_in_sync_operation()\
            \(write == .update ? try Self.changeCondition(table, structure) : "") BEGIN
            \(Self.valueChecks(write, table, structure, options))\(Self.body(write, queue, options))END
            """
    }

    /// Refuses what the upload queue cannot hold.
    private static func valueChecks(
        _ write: Write,
        _ table: ClientRawTable,
        _ structure: RawTableStructure,
        _ options: ClientTableOptions
    ) -> String {
        let isRecorded = write == .insert || write == .update && (!options.isInsertOnly || options.isLocalOnly)
        guard isRecorded, !structure.columns.isEmpty else { return "" }
        let checks = structure.columns.flatMap { column in
            ColumnRefusal.rawTableChecks(
                of: column,
                inTable: table.name,
                comparingWith: write == .update ? "OLD" : nil
            )
        }
        return "SELECT CASE \(checks.joined(separator: " ")) END;\n"
    }

    /// Changes of other columns than the id and the synced ones are not recorded.
    ///
    /// One comparison of all columns: `OR` between as many as a table may have is deeper than SQLite allows.
    private static func changeCondition(_ table: ClientRawTable, _ structure: RawTableStructure) throws -> String {
        guard table.structure?.syncedColumns != nil else { return "" }
        guard !structure.columns.isEmpty else {
            throw LocalDatabaseError.invalidArgument(
                "Table \(structure.tableName) has none of the synced columns of raw table \(table.name)."
            )
        }
        let columns = ["id"] + structure.columns.map(SQLText.identifier)
        let (old, new) = (columns.map { "OLD.\($0)" }, columns.map { "NEW.\($0)" })
        return " AND\n(\(old.joined(separator: ", "))) IS NOT (\(new.joined(separator: ", ")))"
    }

    private static func body(_ write: Write, _ queue: QueueStatement, _ options: ClientTableOptions) -> String {
        let isInsertOnly = options.isInsertOnly && !options.isLocalOnly
        return switch write {
        case .insert where isInsertOnly: queue.insertOnlyPut
        case .insert: queue.put
        case _ where isInsertOnly: "SELECT RAISE(ABORT, 'Unexpected update on insert-only table');\n"
        case .update: QueueStatement.idIsUnchanged(orElse: .abort) + queue.patch
        case .delete: queue.delete
        }
    }
}

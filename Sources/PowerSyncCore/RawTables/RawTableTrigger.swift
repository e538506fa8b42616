import GRDB
import PowerSyncSQLite

/// A trigger that records local writes to a raw or direct table in the upload queue (docs/database.md "Raw tables").
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
///
/// Where an insert or update can remove other rows than its own, because the table has more unique keys than `id`, a second
/// trigger before the write notes them (``UniqueKey``):
///
/// ```sql
/// CREATE TRIGGER "todos_insert__replaced" BEFORE INSERT ON "local_todos" FOR EACH ROW WHEN NOT powersync_in_sync_operation() AND
/// powersync_rs_version() GLOB '*/00000000' BEGIN
/// INSERT INTO powersync_crud(op,id,type,old_values,metadata,options) SELECT 'DELETE', ps_old.id, 'todos', …;
/// END
/// ```
///
/// Its condition is false in other implementations, which would take the notes for deletions.
///
/// The triggers of a direct table with metadata take the values out of `_metadata` and `_deleted` again, which therefore read NULL; a
/// third one deletes the row that an update marks as deleted. The trigger of an insert-only direct table deletes the row.
struct RawTableTrigger {
    /// The kind of write that a trigger records.
    enum Write: String {
        case insert = "INSERT"
        case update = "UPDATE"
        case delete = "DELETE"
    }

    /// The `CREATE TRIGGER` statement.
    let sql: String
    /// The name of the second trigger, which may be there from an earlier time.
    let nameBeforeWrite: String
    /// The `CREATE TRIGGER` statement of the second trigger, if one is needed.
    let sqlBeforeWrite: String?

    /// Builds the statement for the table as it is now.
    ///
    /// - Parameters:
    ///   - db: A connection that can see the table.
    ///   - name: The trigger's name.
    ///   - write: What it records.
    ///   - table: The raw table.
    /// - Throws: ``LocalDatabaseError`` as ``RawTableStructure/init(_:_:)``, and when an update trigger has no synced
    ///   column to look at.
    init(_ db: Database, name: String, write: Write, of table: ClientRawTable) throws {
        let options = try table.requireStructure().options
        let structure = try RawTableStructure(db, table)
        let queue = QueueStatement(
            type: table.name,
            columns: structure.columns,
            values: RawTableRowValues(columns: structure.columns),
            options: options,
            hasMetadata: Self.takesMetadata(table)
        )
        sql = """
            CREATE TRIGGER \(SQLText.identifier(name)) AFTER \(write.rawValue) \
            ON \(SQLText.identifier(structure.tableName)) FOR EACH ROW WHEN NOT powersync_in_sync_operation()\
            \(try Self.condition(write, table, structure)) BEGIN
            \(Self.valueChecks(write, table, structure, options))\(Self.body(write, queue, table, options))END
            """
        nameBeforeWrite = name + "__replaced"
        let notes = try Self.notes(db, write, structure, queue, options)
        sqlBeforeWrite =
            notes.isEmpty
            ? nil
            : """
            CREATE TRIGGER \(SQLText.identifier(nameBeforeWrite)) BEFORE \(write.rawValue) \
            ON \(SQLText.identifier(structure.tableName)) FOR EACH ROW WHEN NOT powersync_in_sync_operation() \
            AND powersync_rs_version() GLOB '*\(SystemTables.formatLevel.drop { $0 != "/" })' BEGIN
            \(notes.joined())END
            """
    }

    /// The `CREATE TRIGGER` statement by which `UPDATE … SET _deleted = TRUE, _metadata = …` deletes a row of a direct table.
    static func deletionByUpdate(_ db: Database, name: String, of table: ClientRawTable) throws -> String {
        let options = try table.requireStructure().options
        let structure = try RawTableStructure(db, table)
        let queue = QueueStatement(
            type: table.name,
            columns: structure.columns,
            values: RawTableRowValues(columns: structure.columns),
            options: options,
            hasMetadata: true
        )
        let tableName = SQLText.identifier(structure.tableName)
        return """
            CREATE TRIGGER \(SQLText.identifier(name)) AFTER UPDATE ON \(tableName) FOR EACH ROW \
            WHEN NOT powersync_in_sync_operation() AND
            NEW.\(deletionColumn) IS TRUE BEGIN
            \(QueueStatement.idIsUnchanged(orElse: .abort))\(queue.deleteWithMetadata())\
            DELETE FROM \(tableName) WHERE id = OLD.id;
            END
            """
    }

    /// The statements before a write, each with a line feed.
    private static func notes(
        _ db: Database,
        _ write: Write,
        _ structure: RawTableStructure,
        _ queue: QueueStatement,
        _ options: ClientTableOptions
    ) throws -> [String] {
        guard write != .delete, options.isLocalOnly || !options.isInsertOnly, let handle = unsafe db.sqliteConnection
        else {
            return []
        }
        let table = SQLText.identifier(structure.tableName)
        let unchanged = write == .insert && options.ignoresEmptyUpdates ? [queue.unchanged(in: table)] : []
        let row = try UniqueKey.newRow(db, ofTable: structure.tableName)
        let keys = try unsafe UniqueKey.fetchAll(ofTable: structure.tableName, on: handle)
        return unchanged + keys.map { queue.rowsInTheWay(of: $0, in: table, withRow: row) }
    }

    /// Refuses what the upload queue cannot hold.
    ///
    /// STRICT has refused every BLOB in a direct table.
    private static func valueChecks(
        _ write: Write,
        _ table: ClientRawTable,
        _ structure: RawTableStructure,
        _ options: ClientTableOptions
    ) -> String {
        let isRecorded = write == .insert || write == .update && (!options.isInsertOnly || options.isLocalOnly)
        guard isRecorded, !structure.uncheckedColumns.isEmpty else { return "" }
        let checks = structure.uncheckedColumns.flatMap { column in
            ColumnRefusal.rawTableChecks(
                of: column,
                inTable: table.name,
                comparingWith: write == .update ? "OLD" : nil
            )
        }
        return "SELECT CASE \(checks.joined(separator: " ")) END;\n"
    }

    private static func takesMetadata(_ table: ClientRawTable) -> Bool {
        guard let structure = table.structure, structure.direct != nil else { return false }
        return structure.options.tracksMetadata
    }

    private static func isInsertOnly(_ options: ClientTableOptions) -> Bool {
        options.isInsertOnly && !options.isLocalOnly
    }

    /// When a write is recorded, besides that it is a local one.
    private static func condition(
        _ write: Write,
        _ table: ClientRawTable,
        _ structure: RawTableStructure
    ) throws -> String {
        guard let known = table.structure else { return "" }
        switch write {
        case .insert:
            return ""
        case .update:
            guard takesMetadata(table) else { return try changeCondition(table, structure) }
            if isInsertOnly(known.options) { return "" }
            // Otherwise it is a trigger that takes the metadata out, or an update that deletes the row.
            return """
                 AND
                OLD.\(metadataColumn) IS NULL AND OLD.\(deletionColumn) IS NULL AND NEW.\(deletionColumn) IS NOT TRUE
                """
        case .delete:
            // Otherwise it is the trigger that deletes the row of an update.
            if takesMetadata(table), !isInsertOnly(known.options) { return " AND\nOLD.\(deletionColumn) IS NULL" }
            guard known.direct != nil, isInsertOnly(known.options) else { return "" }
            // Otherwise it is the trigger that does not keep the row.
            return """
                 AND
                EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = \(SQLText.literal(table.name)) AND row_id = OLD.id)
                """
        }
    }

    private static let metadataColumn = SQLText.identifier(ClientTable.metadataColumns[0])
    private static let deletionColumn = SQLText.identifier(ClientTable.metadataColumns[1])

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

    private static func body(
        _ write: Write,
        _ queue: QueueStatement,
        _ table: ClientRawTable,
        _ options: ClientTableOptions
    ) -> String {
        let isInsertOnly = Self.isInsertOnly(options)
        return switch write {
        case .insert where isInsertOnly: queue.insertOnlyPut + (table.structure?.direct == nil ? "" : discard(table))
        case .insert: queue.put() + forgetMetadata(table)
        case _ where isInsertOnly: "SELECT RAISE(ABORT, 'Unexpected update on insert-only table');\n"
        case .update: QueueStatement.idIsUnchanged(orElse: .abort) + queue.patch() + forgetMetadata(table)
        case .delete: queue.delete()
        }
    }

    private static func discard(_ table: ClientRawTable) -> String {
        "\nDELETE FROM \(SQLText.identifier(table.name)) WHERE id = NEW.id;\n"
    }

    private static func forgetMetadata(_ table: ClientRawTable) -> String {
        guard takesMetadata(table) else { return "" }
        return """
            UPDATE \(SQLText.identifier(table.name)) SET \(metadataColumn) = NULL, \(deletionColumn) = NULL \
            WHERE id = NEW.id AND (NEW.\(metadataColumn) IS NOT NULL OR NEW.\(deletionColumn) IS NOT NULL);

            """
    }
}

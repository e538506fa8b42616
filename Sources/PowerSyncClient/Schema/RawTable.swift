import PowerSyncCore
import PowerSyncProtocol

/// What is known of the local table of a ``RawTable``.
public struct RawTableSchema: Sendable {
    /// The name of the table in the database; `nil` if it is the raw table's.
    public let tableName: String?
    /// The columns that are synced; `nil` for all but `id`.
    ///
    /// Other columns keep their values when a row is downloaded, and their changes are not uploaded.
    public let syncedColumns: [String]?
    /// What the triggers for local writes record.
    public let options: TableOptions

    /// Describes a table.
    ///
    /// - Parameters:
    ///   - tableName: The name of the table in the database, if it is not the raw table's.
    ///   - syncedColumns: The columns that are synced, if not all are.
    ///   - options: What the triggers for local writes record. `trackMetadata` has no effect, and `localOnly` none but to
    ///     overrule `insertOnly`.
    public init(tableName: String? = nil, syncedColumns: [String]? = nil, options: TableOptions = TableOptions()) {
        self.tableName = tableName
        self.syncedColumns = syncedColumns
        self.options = options
    }
}

/// A table of the app's own that synced rows are written to.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "lists", columns: [.text("name")]),
///     RawTable(name: "todos", schema: RawTableSchema(), clear: "DELETE FROM todos")
/// )
/// ```
///
/// The app creates the table, changes it, and adds the triggers that record local writes; see <doc:RawTables>.
public struct RawTable: BaseTableProtocol {
    /// The name in the sync config.
    public let name: String
    /// What is known of the local table.
    public let schema: RawTableSchema?
    /// The statement that writes a row; `nil` for the one that follows from the table's columns.
    public let put: PendingStatement?
    /// The statement that deletes a row; `nil` for the one that follows from the table's columns.
    ///
    /// Its parameters may only be ``PendingStatementParameter/id``.
    public let delete: PendingStatement?
    /// The statements that remove all rows when the database is cleared; `nil` keeps the rows.
    public let clear: String?

    /// Creates a raw table with statements of the app.
    ///
    /// - Parameters:
    ///   - name: The name in the sync config.
    ///   - put: The statement that writes a row.
    ///   - delete: The statement that deletes a row.
    ///   - clear: The statements that remove all rows when the database is cleared.
    public init(name: String, put: PendingStatement, delete: PendingStatement, clear: String? = nil) {
        self.name = name
        schema = nil
        self.put = put
        self.delete = delete
        self.clear = clear
    }

    /// Creates a raw table whose statements follow from its columns in the database.
    ///
    /// The table must exist before the app connects. Its column `id` must be its primary key, or unique.
    ///
    /// - Parameters:
    ///   - name: The name in the sync config.
    ///   - schema: What is known of the local table.
    ///   - put: Writes a row, instead of the statement that follows from the columns.
    ///   - delete: Deletes a row, instead of the statement that follows from the columns.
    ///   - clear: The statements that remove all rows when the database is cleared.
    public init(
        name: String,
        schema: RawTableSchema,
        put: PendingStatement? = nil,
        delete: PendingStatement? = nil,
        clear: String? = nil
    ) {
        self.name = name
        self.schema = schema
        self.put = put
        self.delete = delete
        self.clear = clear
    }

    /// The JSON form, the first argument of the SQL function `powersync_create_raw_table_crud_trigger`.
    ///
    /// ```swift
    /// try await database.execute(
    ///     sql: "SELECT powersync_create_raw_table_crud_trigger(?, 'todos_insert', 'INSERT')",
    ///     parameters: [todos.jsonDescription()]
    /// )
    /// ```
    public func jsonDescription() -> String {
        ClientRawTable(self).json.text
    }

    /// The name of the table in the database, as far as it is known.
    var localName: String? {
        schema.map { $0.tableName ?? name }
    }
}

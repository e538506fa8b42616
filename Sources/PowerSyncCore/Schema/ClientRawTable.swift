import PowerSyncSQLite

/// A table of the application that synced rows are written to, instead of a view over JSON
/// (docs/database.md "Raw tables").
///
/// The application creates and migrates it. Statements that are not given follow from its columns in the database.
package struct ClientRawTable: Sendable, Hashable {
    /// What is known of the local table.
    package struct Structure: Sendable, Hashable {
        /// The table's name in SQLite.
        package var tableName: String
        /// The columns that are synced, `nil` for all; names that the table does not have are ignored.
        package var syncedColumns: [String]?
        /// What generated triggers record.
        package var options: ClientTableOptions
        /// What is different where the table is a direct table; `nil` for a table of the application.
        var direct: Direct?

        /// Creates a structure.
        package init(
            tableName: String,
            syncedColumns: [String]? = nil,
            options: ClientTableOptions = ClientTableOptions()
        ) {
            self.init(tableName: tableName, syncedColumns: syncedColumns, options: options, direct: nil)
        }

        init(tableName: String, syncedColumns: [String]? = nil, options: ClientTableOptions, direct: Direct?) {
            self.tableName = tableName
            self.syncedColumns = syncedColumns
            self.options = options
            self.direct = direct
        }
    }

    /// What a direct table does with rows besides what a table of the application does.
    ///
    /// Values are converted to the types of the columns as a view would do it, and NULL to the default of a column that must not be
    /// NULL; objects and arrays are texts.
    struct Direct: Sendable, Hashable {
        /// The names that columns had before, by their names now: used for rows without a value of the name now.
        var formerNames: [ExactText: String] = [:]
    }

    /// A statement and the values of its parameters, in order.
    package struct Statement: Sendable, Hashable {
        /// The SQL text, one statement.
        package var sql: String
        /// The values, one for each parameter.
        package var parameters: [Parameter]

        /// Creates a statement.
        package init(sql: String, parameters: [Parameter]) {
            self.sql = sql
            self.parameters = parameters
        }
    }

    /// The value of a parameter.
    package enum Parameter: Sendable, Hashable {
        /// The row's id, a text.
        case id
        /// The member of this name, NULL where it is missing.
        case column(String)
        /// The JSON object of the members that no other parameter stands for, NULL if there are none.
        case rest
    }

    /// The type of the rows, as the service names it.
    package var name: String
    /// What is known of the local table; `nil` when rows are written by explicit statements only.
    package var structure: Structure?
    /// The statement that writes a row; `nil` for the one that follows from the columns.
    package var put: Statement?
    /// The statement that deletes a row; `nil` for the one that follows from the columns.
    package var delete: Statement?
    /// The statements that empty the table; `nil` if clearing the database leaves it as it is.
    package var clear: String?

    /// Creates a raw table.
    package init(
        name: String,
        structure: Structure? = nil,
        put: Statement? = nil,
        delete: Statement? = nil,
        clear: String? = nil
    ) {
        self.name = name
        self.structure = structure
        self.put = put
        self.delete = delete
        self.clear = clear
    }

    /// What is known of the local table.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument` when the definition does not name it.
    func requireStructure() throws -> Structure {
        guard let structure else { throw LocalDatabaseError.invalidArgument("Raw table \(name) has no local name") }
        return structure
    }
}

import GRDBSQLite
import PowerSyncSQLite

/// Counts the rows that one execution of a statement of the app changes.
///
/// SQLite counts 0 for a view, whose triggers do the work, and keeps the number of an earlier statement when the latest one is no
/// `INSERT`, `UPDATE` or `DELETE`.
///
/// `@safe`: it is made and used inside one access to the connection.
@safe package struct RowChanges {
    private let table: String?
    private let connection: OpaquePointer

    /// Begins to count; create it before each execution.
    ///
    /// - Parameters:
    ///   - table: `SQLText.changedTable` of the statement.
    ///   - connection: The `sqlite3 *`.
    package init(of table: String?, on connection: OpaquePointer) {
        self.table = table
        unsafe self.connection = connection
        unsafe ConnectionState.find(connection)?.viewChanges.reset()
    }

    /// The number of rows, when the execution has ended; 0 for a statement that is no `INSERT`, `UPDATE` or `DELETE`.
    package var count: Int64 {
        guard let table else { return 0 }
        return unsafe ConnectionState.find(connection)?.viewChanges[table] ?? Int64(sqlite3_changes64(connection))
    }
}

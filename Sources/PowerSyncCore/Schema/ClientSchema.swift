/// The tables that an application declares (docs/database.md "Client schema").
///
/// Rows are stored as JSON, so a schema describes views, triggers and indexes only, and can change without moving data:
/// see ``apply(to:)``. Raw tables are the exception: the application creates and migrates them.
package struct ClientSchema: Sendable, Hashable {
    /// The tables, in order.
    package var tables: [ClientTable]
    /// The tables of the application that synced rows are written to.
    package var rawTables: [ClientRawTable]

    /// Creates a schema.
    package init(tables: [ClientTable] = [], rawTables: [ClientRawTable] = []) {
        self.tables = tables
        self.rawTables = rawTables
    }
}

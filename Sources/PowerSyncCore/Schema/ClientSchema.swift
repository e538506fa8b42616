/// The tables that an application declares (docs/database.md "Client schema").
///
/// Rows are stored as JSON, so a schema describes views, triggers and indexes only, and can change without moving data:
/// see ``apply(to:)``. The exceptions are direct tables, whose rows move when their columns change (``DirectTable``), and raw tables,
/// which the application creates and migrates.
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

    /// The tables that are views.
    var views: [ClientTable] { tables.filter { !$0.isDirect } }

    /// The tables with columns of their own that synced rows are written to.
    package var publishedTables: [ClientRawTable] { rawTables + tables.compactMap(\.rawTable) }
}

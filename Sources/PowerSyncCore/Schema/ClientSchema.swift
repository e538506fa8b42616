/// The tables that an application declares (`database.md` 9).
///
/// Rows are stored as JSON, so a schema describes views, triggers and indexes only, and can change without moving data:
/// see ``apply(to:)``.
package struct ClientSchema: Sendable, Hashable {
    /// The tables, in order.
    package var tables: [ClientTable]

    /// Creates a schema.
    package init(tables: [ClientTable] = []) {
        self.tables = tables
    }
}

/// What the log says of a table before it has rows of it: `TABLE_MAP`.
///
/// The decoder gives the same object again as long as the server writes the same bytes.
package final class TableMap: Sendable {
    /// The number that rows refer to, until the next file.
    package let id: UInt64
    /// The schema, as the server stores its name.
    package let schema: String
    /// The table, as the server stores its name.
    package let table: String
    /// The columns, also invisible and generated ones, in the order of the table.
    package let columns: [LoggedColumn]

    init(id: UInt64, schema: String, table: String, columns: [LoggedColumn]) {
        self.id = id
        self.schema = schema
        self.table = table
        self.columns = columns
    }
}

/// An index on the JSON values of a client table.
package struct ClientIndex: Sendable, Hashable {
    /// A column of an index.
    package struct Column: Sendable, Hashable {
        /// The column's name.
        package var name: String
        /// Whether the index is ordered from high to low.
        package var isDescending: Bool
        /// The type, `nil` for that of the table's column.
        ///
        /// Another one makes the index useless.
        package var type: ColumnType?

        /// Creates a column of an index.
        package init(name: String, isDescending: Bool = false, type: ColumnType? = nil) {
            self.name = name
            self.isDescending = isDescending
            self.type = type
        }
    }

    /// The name, unique in the table.
    ///
    /// On disk it follows the internal table's name and two underscores.
    package var name: String
    /// The columns, most significant first.
    package var columns: [Column]

    /// Creates an index.
    package init(name: String, columns: [Column]) {
        self.name = name
        self.columns = columns
    }
}

/// A row of the source database, with its columns in the order of the table.
package struct SourceRow: Sendable, Hashable {
    /// The names of the columns.
    package private(set) var layout: RowLayout
    /// One value for each column.
    package private(set) var values: [SQLValue]
    /// What tells the row from others of its table, where the values of its identity columns do not; `nil` where they do.
    ///
    /// A time may have less digits as a value than in the source, for example.
    package var key: [SQLValue]?

    /// Creates a row.
    ///
    /// - Parameters:
    ///   - layout: The names of the columns, shared by all rows of the table.
    ///   - values: One value for each column.
    ///   - key: What tells the row from others, if that is not the values of the identity columns.
    package init(layout: RowLayout, values: [SQLValue], key: [SQLValue]? = nil) {
        precondition(
            values.count == layout.names.count,
            "a row of \(values.count) values for \(layout.names.count) columns"
        )
        self.layout = layout
        self.values = values
        self.key = key
    }

    /// The value of a column, found by the bytes of its name; `nil` when the row has no such column.
    ///
    /// - Complexity: O(number of columns).
    package subscript(name: String) -> SQLValue? {
        layout.position(of: name).map { values[$0] }
    }

    /// What tells the row from others of its table.
    ///
    /// - Parameter identity: The names of the identity columns.
    /// - Returns: ``key``, or the values of these columns; `NULL` for one that the row lacks.
    package func key(of identity: [String]) -> [SQLValue] {
        key ?? (layout.names == identity ? values : identity.map { self[$0] ?? .null })
    }
}

extension SourceRow {
    /// One column of a row.
    package struct Column: Sendable, Hashable {
        /// The name, exactly as the source spells it.
        package var name: String
        /// The value.
        package var value: SQLValue

        /// Creates a column.
        package init(name: String, value: SQLValue) {
            self.name = name
            self.value = value
        }
    }

    /// Creates a row with a layout of its own.
    ///
    /// - Parameter columns: The columns in order, each name once.
    package init(columns: [Column]) {
        self.init(layout: RowLayout(columns.map(\.name)), values: columns.map(\.value))
    }

    /// The columns in order.
    ///
    /// Setting them gives the row a layout of its own.
    ///
    /// - Complexity: O(number of columns).
    package var columns: [Column] {
        get { zip(layout.names, values).map(Column.init) }
        set { self = SourceRow(layout: RowLayout(newValue.map(\.name)), values: newValue.map(\.value), key: key) }
    }
}

extension SourceRow: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, SQLValue)...) {
        self.init(layout: RowLayout(elements.map(\.0)), values: elements.map(\.1))
    }
}

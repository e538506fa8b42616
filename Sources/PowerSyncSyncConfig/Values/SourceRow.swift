/// A row of the source database, with its columns in the order of the table.
package struct SourceRow: Sendable, Hashable {
    /// The names of the columns.
    package private(set) var layout: RowLayout
    /// One value for each column.
    package private(set) var values: [SQLValue]

    /// Creates a row.
    ///
    /// - Parameters:
    ///   - layout: The names of the columns, shared by all rows of the table.
    ///   - values: One value for each column.
    package init(layout: RowLayout, values: [SQLValue]) {
        precondition(
            values.count == layout.names.count,
            "a row of \(values.count) values for \(layout.names.count) columns"
        )
        self.layout = layout
        self.values = values
    }

    /// The value of a column, found by the bytes of its name; `nil` when the row has no such column.
    ///
    /// - Complexity: O(number of columns).
    package subscript(name: String) -> SQLValue? {
        layout.position(of: name).map { values[$0] }
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
        set { self = SourceRow(columns: newValue) }
    }
}

extension SourceRow: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, SQLValue)...) {
        self.init(layout: RowLayout(elements.map(\.0)), values: elements.map(\.1))
    }
}

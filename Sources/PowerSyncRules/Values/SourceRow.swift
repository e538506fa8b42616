/// A row of the source database, with its columns in the order of the table.
package struct SourceRow: Sendable, Hashable {
    /// One column of a row.
    package struct Column: Sendable, Hashable {
        /// The name, exactly as the source spells it.
        package var name: String
        /// The value.
        package var value: SQLiteValue

        /// Creates a column.
        package init(name: String, value: SQLiteValue) {
            self.name = name
            self.value = value
        }
    }

    /// The columns in order.
    ///
    /// Names are unique.
    package var columns: [Column]

    /// Creates a row.
    package init(columns: [Column]) {
        self.columns = columns
    }

    /// The value of a column, found by the bytes of its name; `nil` when the row has no such column.
    ///
    /// - Complexity: O(number of columns).
    package subscript(name: String) -> SQLiteValue? {
        columns.first { $0.name.hasSameBytes(as: name) }?.value
    }
}

extension SourceRow: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, SQLiteValue)...) {
        self.init(columns: elements.map { Column(name: $0.0, value: $0.1) })
    }
}

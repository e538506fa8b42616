package import NIOCore

/// The whole answer of a small query: text in UTF-8, and bytes of binary columns, as the server writes them in its text protocol.
package struct MySQLResult: Sendable {
    /// A row.
    package struct Row: Sendable {
        fileprivate let columns: [MySQLColumn]
        /// The values in the order of the columns; `nil` is `NULL`.
        package let values: [ByteBuffer?]

        /// The value of a column; `nil` is `NULL`, or there is no such column.
        ///
        /// - Complexity: O(columns).
        package subscript(name: String) -> ByteBuffer? {
            columns.firstIndex { $0.name == name }.flatMap { values[$0] }
        }

        /// The value of a column as text; `nil` is `NULL`, or there is no such column.
        ///
        /// Bytes that are no UTF-8 are replaced.
        ///
        /// - Complexity: O(columns).
        package func string(_ name: String) -> String? { self[name].map { String(buffer: $0) } }

        /// The value of a column as a number; `nil` is `NULL`, another text, or there is no such column.
        ///
        /// - Complexity: O(columns).
        package func integer(_ name: String) -> Int? { string(name).flatMap { Int($0) } }
    }

    /// The columns.
    package let columns: [MySQLColumn]
    /// The rows.
    package let rows: [Row]

    init(columns: [MySQLColumn], rows: [[ByteBuffer?]]) {
        self.columns = columns
        self.rows = rows.map { Row(columns: columns, values: $0) }
    }

    /// The first value of the first row as text.
    package var firstString: String? { rows.first?.values.first.flatMap { $0.map { String(buffer: $0) } } }
}

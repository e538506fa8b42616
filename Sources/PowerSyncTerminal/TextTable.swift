/// A small table for the terminal: a header, rows, columns padded to their widest cell.
///
/// ```
///   list        todos
///   Groceries   3
///   Work        12
/// ```
package struct TextTable {
    /// The titles of the columns.
    package var header: [String]
    /// The rows; a row may have fewer cells than the header.
    package var rows: [[String]]

    package init(header: [String], rows: [[String]] = []) {
        self.header = header
        self.rows = rows
    }

    /// The lines of the table, without line ends.
    package var lines: [String] {
        let all = [header] + rows
        let widths = header.indices.map { column in
            all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return all.map { row in
            var line = " "
            for (column, cell) in row.enumerated() where widths.indices.contains(column) {
                line += " " + cell + String(repeating: " ", count: widths[column] - cell.count) + " "
            }
            while line.last == " " {
                line.removeLast()
            }
            return line
        }
    }
}

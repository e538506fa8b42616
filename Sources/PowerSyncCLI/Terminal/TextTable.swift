/// A small table for the terminal: a header, rows, columns padded to their widest cell.
///
/// ```
///   list        todos
///   Groceries   3
///   Work        12
/// ```
struct TextTable {
    /// The titles of the columns.
    var header: [String]
    /// The rows; a row may have fewer cells than the header.
    var rows: [[String]] = []

    /// The lines of the table, without line ends.
    var lines: [String] {
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

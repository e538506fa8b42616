import PowerSyncSQLite

/// A row of a table in a database server, with its values as the texts that the server makes of them.
///
/// ```swift
/// if let todo = try await write.storedRow() { lists.append(todo["list_id"]) }
/// ```
public struct StoredRow: Sendable {
    /// The columns of a table, which its rows have in common.
    package struct Columns: Sendable {
        fileprivate let indexes: [ExactText: Int]

        /// Columns with these names, in the order of the values.
        package init(_ names: [String]) {
            indexes = Dictionary(
                names.enumerated().map { (ExactText($1), $0) },
                uniquingKeysWith: { first, _ in first }
            )
        }
    }

    private let columns: Columns
    private let values: [String?]

    package init(_ columns: Columns, _ values: [String?]) {
        self.columns = columns
        self.values = values
    }

    /// The bytes of its values.
    var byteCount: Int { values.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

    /// The value of a column; `nil` is `NULL`, or there is no such column.
    ///
    /// - Parameter column: The name.
    public subscript(column: String) -> String? {
        columns.indexes[ExactText(column)].flatMap { values[$0] }
    }

    /// Whether there is such a column.
    ///
    /// - Parameter column: The name.
    /// - Returns: Whether the table has it.
    public func hasColumn(_ column: String) -> Bool {
        columns.indexes[ExactText(column)] != nil
    }
}

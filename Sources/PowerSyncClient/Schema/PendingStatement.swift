/// Where the value of a parameter of a ``PendingStatement`` comes from.
public enum PendingStatementParameter: Sendable {
    /// The id of the row, a text.
    case id
    /// The value of this column, NULL when the row does not have it.
    case column(String)
    /// A JSON object of all columns that no other parameter of the statement stands for, NULL when there are none.
    case rest
}

/// A statement that writes or deletes one synced row of a ``RawTable``.
///
/// ```swift
/// PendingStatement(
///     sql: "INSERT OR REPLACE INTO todos (id, title, other) VALUES (?, ?, ?)",
///     parameters: [.id, .column("title"), .rest]
/// )
/// ```
public struct PendingStatement: Sendable {
    /// The SQL text.
    ///
    /// One statement: with more, syncing fails and says so.
    public let sql: String
    /// The values of the parameters, in order.
    public let parameters: [PendingStatementParameter]

    /// Creates a statement.
    ///
    /// - Parameters:
    ///   - sql: The SQL text.
    ///   - parameters: The values of the parameters, as many as the statement has.
    public init(sql: String, parameters: [PendingStatementParameter]) {
        self.sql = sql
        self.parameters = parameters
    }
}

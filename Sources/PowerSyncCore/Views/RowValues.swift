/// The SQL expressions for the values of a row in the statements of a trigger that fill the upload queue.
///
/// Each is a JSON object, or NULL.
protocol RowValues {
    /// All columns of an inserted row that are not null.
    var inserted: String { get }
    /// The columns that an update changes.
    var updated: String { get }
    /// Some columns of a row that is there before a write: `OLD`, or a name in the statement.
    func previous(_ columns: [String], of row: String) -> String
    /// Those of some columns that an update changes, as they were before it.
    func previousIfUpdated(_ columns: [String]) -> String
}

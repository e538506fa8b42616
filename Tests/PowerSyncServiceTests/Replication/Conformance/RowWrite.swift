import PowerSyncRules

/// A write to a source, by somebody who knows nothing about the service.
///
/// Keys are texts in a column `id`. What a table that is not there would get is lost.
enum RowWrite: Sendable {
    /// A new row; nothing when there is one with the id. Columns that are not named are NULL.
    case insert(String, id: String, [String: SQLiteValue] = [:])
    /// Changes columns of a row, the id among them; nothing when there is no row, or one with the new id.
    case update(String, id: String, [String: SQLiteValue])
    case delete(String, id: String)
    /// All rows at once.
    case truncate(String)

    var table: String {
        switch self {
        case .insert(let table, _, _), .update(let table, _, _), .delete(let table, _), .truncate(let table): table
        }
    }
}

/// A change of the tables of a source, by somebody who knows nothing about the service.
enum TableChange: Sendable {
    /// A table with these columns; the first one is `id`.
    case create(String, columns: [String])
    case drop(String)
    case addColumn(String, to: String)
}

/// What happened to a row.
///
/// ```swift
/// if entry.op == .delete { try remove(entry.id) }
/// ```
public enum UpdateType: String, Codable, Sendable {
    /// The row was inserted or replaced. The data has all columns that are not null.
    case put = "PUT"
    /// Columns were changed. The data has exactly those, null included.
    case patch = "PATCH"
    /// The row was deleted. There is no data.
    case delete = "DELETE"
}

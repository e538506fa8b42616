import PowerSyncCore

/// A synced row that the local database refuses: a constraint of a raw table, a unique index or a trigger of the app.
///
/// ```swift
/// for row in database.currentStatus.setAsideRows {
///     print("\(row.table) \(row.id): \(row.reason)")
///     // local_todos 7f3c…: UNIQUE constraint failed: local_todos.position
/// }
/// ```
///
/// Nothing else waits for it: all other rows of its checkpoint are shown. The row stays as it was before, or is not there,
/// where it would stand in the way of others. Each complete checkpoint tries it again.
public struct SetAsideRow: Sendable, Hashable {
    /// The table, as the sync config names it.
    public let table: String
    /// The row's id.
    public let id: String
    /// What refuses it, with the names of tables, columns and constraints, and without values.
    public let reason: String
}

extension SyncStatusData {
    /// The synced rows that the local database refuses, in the order of table and id.
    ///
    /// Known since the last checkpoint of this process. A status that is not of this SDK has none.
    ///
    /// - Complexity: O(*n* log *n*) in the number of rows.
    public var setAsideRows: [SetAsideRow] {
        let rows = ownSnapshot?.download.setAside.rows ?? []
        return rows.map { SetAsideRow(table: $0.table, id: $0.id, reason: $0.reason) }
    }
}

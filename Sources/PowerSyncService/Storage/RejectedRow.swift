package import PowerSyncRules

/// A row that is skipped because it is too large.
///
/// Clients keep the previous version.
package struct RejectedRow: Sendable, Hashable {
    /// The table.
    package var table: SourceTableName
    /// The identity columns with their values.
    package var key: [SourceRow.Column]
    /// The estimated size of the stored row.
    package var bytes: Int
    /// The largest size that is stored.
    package var limit: Int
}

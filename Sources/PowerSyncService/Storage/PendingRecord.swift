import PowerSyncProtocol
import PowerSyncRules

/// A change that has been evaluated and waits to be written.
struct PendingRecord: Sendable {
    /// What a row has become.
    struct Content: Sendable {
        /// Its identity after the change.
        var key: ReplicaID
        /// What it becomes in buckets, with the checksum of each `PUT`.
        var rows: [(row: BucketRow, checksum: Checksum)]
        /// What it adds to parameter indexes.
        var entries: [ParameterEntry]
        /// Whether the row is too large: nothing is known about it, and what is stored of it stays.
        var isTooLarge: Bool
    }

    /// What happened.
    var kind: SourceChange.Kind
    /// The id of the table's record.
    var tableID: String
    /// The identity before the change.
    var beforeKey: ReplicaID
    /// The row; `nil` for a delete.
    var content: Content?
    /// Whether a row that is already stored is left alone.
    var skipsStoredRow: Bool
    /// The estimated bytes of the operations.
    var size: Int
    /// Why the row is not stored as it should be.
    var rejections: [RejectedRow] = []
}

package import PowerSyncSyncConfig

/// A change that has been evaluated and waits to be written.
package struct PendingRecord: Sendable {
    /// What a row has become.
    package struct Content: Sendable {
        /// Its identity after the change.
        package var key: ReplicaID
        /// What it becomes in buckets; a row is once in each of them.
        package var rows: [(row: BucketRow, hash: ContentHash)]
        /// What it adds to parameter indexes; there is one entry for each lookup.
        package var entries: [(entry: ParameterEntry, hash: ContentHash)]
        /// Where it is too large, without the data: what is stored of it there stays.
        package var withheld: [BucketRow]
    }

    /// What happened.
    package var kind: SourceChange.Kind
    /// The id of the table's record.
    package var tableID: String
    /// The identity before the change.
    package var beforeKey: ReplicaID
    /// The row; `nil` for a delete.
    package var content: Content?
    /// Whether a row that is already stored is left alone.
    package var skipsStoredRow: Bool
    /// The estimated bytes of the operations.
    package var size: Int
    /// Why the row is not stored as it should be.
    package var rejections: [RejectedRow] = []
}

package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// A row that is not synced as the config says.
package struct RejectedRow: Sendable, Hashable {
    /// Why.
    package enum Reason: Sendable, Hashable {
        /// It is larger than what is stored: in some buckets, clients keep the previous version.
        ///
        /// The bytes are those of the largest form that it has in these buckets.
        case tooLarge(bytes: Int, limit: Int, buckets: [BucketName])
        /// It cannot be evaluated for some buckets or for an index, and is not there.
        case notEvaluated(RowEvaluationError)
        /// It has no id in buckets of these definitions, and is not there.
        case withoutID(definitions: [String])
    }

    /// The table.
    package var table: SourceTableName
    /// The identity columns with their values.
    package var key: [SourceRow.Column]
    /// Why.
    package var reason: Reason
}

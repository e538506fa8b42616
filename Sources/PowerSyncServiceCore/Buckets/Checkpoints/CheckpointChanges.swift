package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// What differs between two checkpoints of one stream (docs/sync-config.md "When buckets are found again").
///
/// Readers use it to leave alone what cannot have changed. Reporting too much is correct, too little is not.
package enum CheckpointChanges: Sendable, Equatable {
    /// The storage does not know: everything may have changed.
    case unknown
    /// Only these buckets got operations, and only these lookups may give other rows.
    case known(buckets: Set<BucketName>, lookups: Set<ParameterLookup>)

    /// Whether nothing differs for any reader.
    package var isEmpty: Bool {
        switch self {
        case .unknown: false
        case .known(let buckets, let lookups): buckets.isEmpty && lookups.isEmpty
        }
    }
}

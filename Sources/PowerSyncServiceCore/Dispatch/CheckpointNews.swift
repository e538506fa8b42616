import PowerSyncProtocol
import PowerSyncRules

/// What the dispatcher has found out about a commit, once for all sessions.
struct CommitChanges: Sendable {
    /// What differs from the checkpoint before.
    var changes: CheckpointChanges
    /// The checksums of changed buckets, as far as they have been read.
    var checksums: [BucketName: BucketChecksum] = [:]
}

/// What a session is told: the newest checkpoint, and what may have changed for its client since the last one it was told of.
struct CheckpointNews: Sendable, Equatable {
    /// The newest checkpoint.
    ///
    /// Nothing that concerns the client lies between the last change and this one.
    var checkpoint: StorageCheckpoint
    /// What may have changed.
    var scope: Scope

    /// What may have changed for one client.
    struct Scope: Sendable, Equatable {
        /// Everything may have changed; then the rest says nothing.
        var isUnknown = false
        /// Buckets of the client that got operations.
        var buckets: Set<BucketName> = []
        /// Their checksums, as far as they have been read.
        var checksums: [BucketName: BucketChecksum] = [:]
        /// Whether the client may have other buckets.
        var hasOtherLookups = false
        /// Whether another write checkpoint of the user may be visible.
        var hasWriteCheckpoint = false

        /// Everything.
        static let unknown = Scope(isUnknown: true)

        /// Whether the buckets of the client have to be found again.
        var mayHaveOtherBuckets: Bool { isUnknown || hasOtherLookups }

        /// Adds a commit, as far as it concerns a client.
        ///
        /// - Returns: Whether it does.
        mutating func add(_ commit: CommitChanges, for interest: Interest) -> Bool {
            switch commit.changes {
            case .unknown:
                isUnknown = true
                return true
            case .known(let changed, let lookups):
                let mine = interest.buckets.intersection(changed)
                let hasOtherLookups = !lookups.isDisjoint(with: interest.lookups)
                for bucket in mine { add(bucket, commit) }
                if hasOtherLookups { self.hasOtherLookups = true }
                return !mine.isEmpty || hasOtherLookups
            }
        }

        /// Adds a bucket of the client that a commit has changed.
        mutating func add(_ bucket: BucketName, _ commit: CommitChanges) {
            buckets.insert(bucket)
            // One that was read before this commit is void.
            checksums[bucket] = commit.checksums[bucket]
        }
    }
}

import PowerSyncProtocol
import PowerSyncSyncConfig

/// The changes of a commit, read once for all sessions.
struct CommitChanges: Sendable {
    /// The changes since the checkpoint before.
    var changes: CheckpointChanges
    /// The checksums of changed buckets, as far as they have been read.
    var checksums: [BucketName: BucketChecksum] = [:]
    /// The operations of changed buckets that one session wants, as far as they have been read.
    var operations: [BucketName: FreshOperations] = [:]
}

/// The newest checkpoint for a session, and what may have changed for its client since the checkpoint that the session
/// took before.
struct CheckpointNews: Sendable, Equatable {
    /// The newest checkpoint.
    ///
    /// Nothing that concerns the client lies between the last change and this one.
    var checkpoint: StorageCheckpoint
    /// The changes that concern the session.
    var scope: Scope

    /// The changes that may concern one client.
    struct Scope: Sendable, Equatable {
        /// Everything may have changed; then the rest says nothing.
        var isUnknown = false
        /// Buckets of the client that got operations.
        var buckets: Set<BucketName> = []
        /// Their checksums, as far as they have been read.
        var checksums: [BucketName: BucketChecksum] = [:]
        /// All operations that they got, in their order, as far as they have been read; never empty.
        var operations: [BucketName: [FreshOperations]] = [:]
        /// The bytes of all of them.
        var operationBytes = 0
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
                self = .unknown
                return true
            case .known(let changed, let lookups):
                let mine = interest.buckets.intersection(changed)
                let hasOtherLookups = !lookups.isDisjoint(with: interest.lookups)
                for bucket in mine { add(bucket, commit) }
                let hasWriteCheckpoint = !lookups.isDisjoint(with: interest.writeCheckpoints)
                if hasOtherLookups { self.hasOtherLookups = true }
                if hasWriteCheckpoint { self.hasWriteCheckpoint = true }
                return !mine.isEmpty || hasOtherLookups || hasWriteCheckpoint
            }
        }

        /// Adds a bucket of the client that a commit has changed.
        mutating func add(_ bucket: BucketName, _ commit: CommitChanges) {
            // What was added to it before is not known.
            guard !isUnknown else { return }
            let isFirst = buckets.insert(bucket).inserted
            // One that was read before this commit is void.
            checksums[bucket] = commit.checksums[bucket]
            add(commit.operations[bucket], of: bucket, isFirst: isFirst)
        }

        /// Adds what a commit has added to a bucket; without that, what was there before is void, too.
        private mutating func add(_ fresh: FreshOperations?, of bucket: BucketName, isFirst: Bool) {
            let earlier = operations.removeValue(forKey: bucket) ?? []
            guard let fresh, isFirst || !earlier.isEmpty, earlier.count < FreshOperations.maximumCommits,
                operationBytes + fresh.byteCount <= FreshOperations.maximumBytes
            else {
                operationBytes -= earlier.reduce(0) { $0 + $1.byteCount }
                return
            }
            operationBytes += fresh.byteCount
            operations[bucket] = earlier + [fresh]
        }
    }
}

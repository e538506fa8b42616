package import PowerSyncProtocol

extension SyncEngine {
    /// What is known of a bucket of the checkpoint that is being downloaded.
    package struct TrackedBucket: Sendable, Hashable {
        /// How urgent the bucket is.
        package let priority: Priority
        /// The operations since the last complete checkpoint, and how many of them are here.
        package let progress: OperationCounts
    }

    /// The buckets of the checkpoint that is being downloaded, or was downloaded last; `nil` before the first one of an iteration.
    ///
    /// - Complexity: O(number of buckets).
    package var trackedBuckets: [BucketName: TrackedBucket]? {
        guard let checkpoint = machine.trackedCheckpoint else { return nil }
        var tracked: [BucketName: TrackedBucket] = [:]
        for bucket in checkpoint.buckets {
            let progress = TrackedCheckpoint.counts(of: bucket, file.buckets)
            tracked[file.buckets.names[bucket.slot]] = TrackedBucket(priority: bucket.priority, progress: progress)
        }
        return tracked
    }
}

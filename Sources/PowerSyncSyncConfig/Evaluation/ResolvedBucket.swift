package import PowerSyncProtocol

/// A bucket that a client gets at one checkpoint.
package struct ResolvedBucket: Sendable, Hashable {
    /// The name, with the prefix that was asked for.
    package var name: BucketName
    /// The most urgent priority of all subscriptions that lead to the bucket.
    package var priority: Priority
    /// The subscriptions that lead to the bucket, in order.
    package var reasons: [BucketReason]
    /// The stream of the first reason.
    ///
    /// For logs only: streams may share buckets.
    package var stream: String

    /// Creates a bucket.
    package init(name: BucketName, priority: Priority, reasons: [BucketReason], stream: String) {
        self.name = name
        self.priority = priority
        self.reasons = reasons
        self.stream = stream
    }
}

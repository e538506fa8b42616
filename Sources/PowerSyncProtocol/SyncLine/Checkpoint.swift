/// A target state announced by the service: an op id, and a checksum for every bucket (docs/protocol.md "Lines").
package struct Checkpoint: Sendable, Equatable {
    /// The op id of this checkpoint.
    package var lastOpID: OpID
    /// The newest write checkpoint of this client that the checkpoint covers.
    package var writeCheckpoint: WriteCheckpoint?
    /// Every bucket of the client; a bucket that is missing here is to be deleted.
    package var buckets: [BucketDescription]
    /// The streams that the client is subscribed to, in the order of the sync config.
    package var streams: [StreamDescription]

    /// Creates a checkpoint.
    package init(
        lastOpID: OpID,
        writeCheckpoint: WriteCheckpoint? = nil,
        buckets: [BucketDescription] = [],
        streams: [StreamDescription] = []
    ) {
        self.lastOpID = lastOpID
        self.writeCheckpoint = writeCheckpoint
        self.buckets = buckets
        self.streams = streams
    }
}

/// What changed since the checkpoint that is being tracked.
package struct CheckpointDiff: Sendable, Equatable {
    /// The op id of the new checkpoint.
    package var lastOpID: OpID
    /// Replaces the tracked write checkpoint; `nil` means "none", not "unchanged".
    package var writeCheckpoint: WriteCheckpoint?
    /// Buckets that are new or whose checksum or count changed.
    package var updatedBuckets: [BucketDescription]
    /// Buckets that the client no longer has; removed before `updatedBuckets` are inserted.
    package var removedBuckets: [BucketName]

    /// Creates a checkpoint diff.
    package init(
        lastOpID: OpID,
        writeCheckpoint: WriteCheckpoint? = nil,
        updatedBuckets: [BucketDescription] = [],
        removedBuckets: [BucketName] = []
    ) {
        self.lastOpID = lastOpID
        self.writeCheckpoint = writeCheckpoint
        self.updatedBuckets = updatedBuckets
        self.removedBuckets = removedBuckets
    }
}

/// One bucket of a checkpoint.
package struct BucketDescription: Sendable, Equatable {
    /// The opaque name.
    package var name: BucketName
    /// The sum of the checksums of all its operations up to the checkpoint.
    package var checksum: Checksum
    /// How urgent the bucket is.
    package var priority: Priority
    /// The number of operations, used for download progress only.
    package var count: Int64?
    /// Why the client gets this bucket.
    package var reasons: [BucketReason]

    /// Creates a bucket description.
    package init(
        name: BucketName,
        checksum: Checksum,
        priority: Priority = .default,
        count: Int64? = nil,
        reasons: [BucketReason] = []
    ) {
        self.name = name
        self.checksum = checksum
        self.priority = priority
        self.count = count
        self.reasons = reasons
    }
}

/// Why a client gets a bucket.
///
/// Wire forms: `{"default":0}` and `{"sub":1}`.
package enum BucketReason: Sendable, Hashable {
    /// The default subscription of the stream at this index of ``Checkpoint/streams``.
    case defaultStream(Int)
    /// The explicit subscription at this index of the request.
    case subscription(Int)
}

/// One stream that the client is subscribed to.
package struct StreamDescription: Sendable, Equatable {
    /// The name in the sync config.
    package var name: String
    /// Whether clients get it without subscribing.
    package var isDefault: Bool
    /// Subscriptions of this stream that could not be evaluated.
    package var errors: [StreamError]

    /// Creates a stream description.
    package init(name: String, isDefault: Bool, errors: [StreamError] = []) {
        self.name = name
        self.isDefault = isDefault
        self.errors = errors
    }
}

/// A subscription that could not be evaluated.
package struct StreamError: Sendable, Equatable {
    /// Which subscription of the stream failed.
    package enum Subject: Sendable, Equatable {
        /// The default subscription, `"default"` on the wire.
        case defaultSubscription
        /// The explicit subscription at this index of the request.
        case subscription(Int)
    }

    /// The subscription that failed.
    package var subject: Subject
    /// What went wrong, for developers.
    package var message: String

    /// Creates a stream error.
    package init(subject: Subject, message: String) {
        self.subject = subject
        self.message = message
    }
}

/// Everything has been sent for all buckets up to a priority.
package struct PartialCheckpointComplete: Sendable, Equatable {
    /// The op id of the tracked checkpoint; informational.
    package var lastOpID: OpID?
    /// The priority that is complete.
    package var priority: Priority

    /// Creates a partial completion.
    package init(lastOpID: OpID?, priority: Priority) {
        self.lastOpID = lastOpID
        self.priority = priority
    }
}

/// Everything has been sent for the tracked checkpoint.
package struct CheckpointComplete: Sendable, Equatable {
    /// The op id of the tracked checkpoint; informational.
    package var lastOpID: OpID?

    /// Creates a completion.
    package init(lastOpID: OpID?) {
        self.lastOpID = lastOpID
    }
}

package import PowerSyncSyncConfig

/// The number of a replication stream: one deployed sync config with all its stored data.
///
/// It is part of bucket names (`1#lists|0["u1"]`), so a changed config gives every client new buckets.
package struct ReplicationStreamID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    package let rawValue: Int64

    /// Creates an id from its number.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// What bucket names of this stream begin with, for example `1#`.
    package var bucketPrefix: String { "\(rawValue)#" }

    package static func < (lhs: ReplicationStreamID, rhs: ReplicationStreamID) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension ReplicationStreamID: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

/// A deployed sync config: its text, the compiled plan, and how far its data has been replicated
/// (docs/service.md "Replication streams").
package struct ReplicationStream: Sendable {
    /// The states; raw values are those of the `state` column.
    package enum State: String, Sendable {
        /// Being snapshotted or waiting for its first checkpoint; not served.
        case processing = "PROCESSING"
        /// Replicated and served.
        case active = "ACTIVE"
        /// The source's history was lost: served as it is, while a successor is processing.
        case errored = "ERRORED"
        /// Replaced; its data is waiting to be deleted.
        case stop = "STOP"
        /// Replaced, and its data is gone.
        case terminated = "TERMINATED"

        /// Whether clients are served from a stream in this state.
        package var isServed: Bool { self == .active || self == .errored }
        /// Whether changes of the source are stored for a stream in this state.
        package var isReplicated: Bool { self == .processing || self == .active }
    }

    /// The number of the stream.
    package var id: ReplicationStreamID
    /// The state when the record was read.
    package var state: State
    /// The name under which the source keeps what this stream needs (PostgreSQL: the replication slot).
    package var sourceHandle: String
    /// The YAML text.
    ///
    /// Redeployment is decided by comparing texts byte by byte.
    package var content: String
    /// What operators call this version of the config.
    package var versionLabel: String?
    /// The compiled plan that runs, also when a newer service would compile the text differently.
    package var plan: SyncPlan
    /// Whether the initial snapshot is complete.
    package var isSnapshotDone: Bool

    /// Creates a description of a stream.
    package init(
        id: ReplicationStreamID,
        state: State,
        sourceHandle: String,
        content: String,
        plan: SyncPlan,
        isSnapshotDone: Bool
    ) {
        self.id = id
        self.state = state
        self.sourceHandle = sourceHandle
        self.content = content
        self.plan = plan
        self.isSnapshotDone = isSnapshotDone
    }

    /// What bucket names of this stream begin with.
    package var bucketPrefix: String { id.bucketPrefix }
}

/// The replication stream that clients are served from.
package struct ActiveReplicationStream: Sendable {
    /// The number of the stream.
    package var id: ReplicationStreamID
    /// The plan that maps requests to buckets.
    package var plan: SyncPlan
    /// The checkpoint that any process had published when the stream was asked for: a client that comes from another process has seen no
    /// later one.
    package var checkpoint: StorageCheckpoint

    /// What bucket names of this stream begin with, for example `1#`.
    package var bucketPrefix: String { id.bucketPrefix }

    /// Creates a description of the active stream.
    package init(plan: SyncPlan, checkpoint: StorageCheckpoint) {
        id = checkpoint.streamID
        self.plan = plan
        self.checkpoint = checkpoint
    }
}

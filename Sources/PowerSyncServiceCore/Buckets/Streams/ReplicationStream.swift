package import PowerSyncSyncConfig

/// The number of a replication stream: all that is stored for a deployed sync config, and for those that took its place since.
///
/// It is part of bucket names (`1#lists|0["u1"]`), so another stream gives every client new buckets.
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

/// What clients are served: a stream with one of the sync configs that followed each other in it.
package struct ServedConfigID: Hashable, Comparable, Sendable {
    /// The stream.
    package var stream: ReplicationStreamID
    /// The number of its config, counted from 1.
    package var config: Int64

    /// Creates an id.
    package init(stream: ReplicationStreamID, config: Int64) {
        self.stream = stream
        self.config = config
    }

    package static func < (lhs: ServedConfigID, rhs: ServedConfigID) -> Bool {
        lhs.stream == rhs.stream ? lhs.config < rhs.config : lhs.stream < rhs.stream
    }
}

extension StorageCheckpoint {
    /// What clients are served at this checkpoint.
    package var serving: ServedConfigID { ServedConfigID(stream: streamID, config: configNumber) }
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
    /// The number of the config, counted from 1 in each stream.
    package var configNumber: Int64 = 1
    /// The config that takes its place once the stream has what that needs.
    package var next: NextConfig?

    /// A config that is to take the place of the one that is served from the same stream.
    package struct NextConfig: Sendable {
        /// Its number.
        package var number: Int64
        /// The YAML text.
        package var content: String
        /// What operators call this version.
        package var versionLabel: String?
        /// The compiled plan, with the names of its parts in the storage.
        package var plan: SyncPlan
        /// The records of source tables whose rows have been read for it.
        package var filledTables: Set<String>
        /// Whether everything has been read for it: the next checkpoint is the first one that is served with it.
        package var isFilled: Bool
    }

    /// What rows are evaluated with: the plan, and the parts that the next config adds.
    package var writtenPlan: SyncPlan { next.map { plan.writing($0.plan) } ?? plan }

    /// The next config as a stream of its own, as operators are shown it; `nil` when there is none.
    package var deploying: ReplicationStream? {
        guard let next else { return nil }
        var stream = ReplicationStream(
            id: id,
            state: .processing,
            sourceHandle: sourceHandle,
            content: next.content,
            plan: next.plan,
            isSnapshotDone: next.isFilled
        )
        stream.versionLabel = next.versionLabel
        stream.configNumber = next.number
        return stream
    }

    /// The text of the config that was deployed last: the next one, or the one that is served.
    package var deployedContent: String { next?.content ?? content }

    /// What operators call the config that was deployed last.
    package var deployedLabel: String? { next.map(\.versionLabel) ?? versionLabel }

    /// The numbers of the configs that rows are evaluated for.
    package var writtenConfigs: [Int64] { [configNumber] + (next.map { [$0.number] } ?? []) }

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
    /// The plan that maps requests to buckets.
    package var plan: SyncPlan
    /// The checkpoint that any process had published when the stream was asked for: a client that comes from another process has seen no
    /// later one.
    package var checkpoint: StorageCheckpoint

    /// The number of the stream.
    package var id: ReplicationStreamID { checkpoint.streamID }

    /// What bucket names of this stream begin with, for example `1#`.
    package var bucketPrefix: String { id.bucketPrefix }

    /// The stream with the number of the config.
    package var serving: ServedConfigID { checkpoint.serving }

    /// Creates a description of the active stream.
    package init(plan: SyncPlan, checkpoint: StorageCheckpoint) {
        self.plan = plan
        self.checkpoint = checkpoint
    }
}

package import Foundation
package import PowerSyncProtocol
import PowerSyncSyncConfig

/// A replication stream as storages keep it, without its sync config (``StreamConfigs``).
package struct StreamRecord: Sendable, Equatable {
    /// The number of the stream.
    package let id: ReplicationStreamID
    /// The state when the record was read.
    package var state: ReplicationStream.State
    /// The name under which the source keeps the position of this stream.
    package let sourceHandle: String
    /// The secret key of the hashes in row states, 16 bytes.
    package let hashKey: [UInt8]
    /// What operators call this version of the sync config.
    package var versionLabel: String?
    /// The number of the sync config.
    package var configNumber: Int64 = 1
    /// The number that was given last to a config of the stream: the next one, or one that was abandoned.
    package var lastConfigNumber: Int64 = 1
    /// What is stored of the next config besides its text and plan; `nil` when there is none.
    package var next: NextConfig?
    /// Whether the initial snapshot is complete.
    package var isSnapshotDone = false
    /// From where the source is read as long as there is no checkpoint.
    package var snapshotLSN: LSN?
    /// The op id of the published checkpoint.
    package var lastCheckpoint: OpID?
    /// The position of the published checkpoint.
    package var lastCheckpointLSN: LSN?
    /// When the checkpoint was published.
    package var lastCheckpointAt: Date?
    /// The position before which no checkpoint may be made.
    package var noCheckpointBefore: LSN?
    /// The highest op id that is stored and not covered by a checkpoint.
    package var keepaliveOp: OpID?
    /// The number of the source's history in `source_histories`; 0 before the stream has begun.
    package var historyID: Int64 = 0

    /// What is stored of a config that is to take the place of the stream's own; its number is ``lastConfigNumber``.
    package struct NextConfig: Sendable, Equatable {
        /// What operators call it.
        package var versionLabel: String?
        /// The records of source tables whose rows have been read for it.
        package var filledTables: Set<String> = []
        /// Whether everything has been read for it.
        package var isFilled = false

        /// Creates the record of a config for which nothing has been read.
        package init(versionLabel: String?) {
            self.versionLabel = versionLabel
        }

        /// The ids of ``filledTables`` as storages keep them: in their order, with a comma between two.
        package var encodedTables: String { filledTables.sorted().joined(separator: ",") }

        /// Reads what storages keep.
        package init(versionLabel: String?, encodedTables: String, isFilled: Bool) {
            self.init(versionLabel: versionLabel)
            filledTables = Set(encodedTables.split(separator: ",").map { String($0) })
            self.isFilled = isFilled
        }
    }

    /// Which configs the stream has.
    package var configs: StreamConfig.Version {
        StreamConfig.Version(served: configNumber, next: next == nil ? nil : lastConfigNumber)
    }

    /// Creates the record of a stream that has not begun.
    package init(id: ReplicationStreamID, state: ReplicationStream.State, sourceHandle: String, hashKey: [UInt8]) {
        self.id = id
        self.state = state
        self.sourceHandle = sourceHandle
        self.hashKey = hashKey
    }

    /// A random ``hashKey`` for a new stream.
    package static func makeHashKey() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// The published checkpoint.
    package var checkpoint: StorageCheckpoint? {
        guard let lastCheckpoint, let lastCheckpointLSN else { return nil }
        return StorageCheckpoint(
            streamID: id,
            configNumber: configNumber,
            opID: lastCheckpoint,
            lsn: lastCheckpointLSN
        )
    }

    /// Records that no checkpoint may be made before a position, if one is given.
    mutating func forbidCheckpoints(before lsn: LSN?) {
        noCheckpointBefore = [noCheckpointBefore, lsn].compactMap(\.self).max()
    }

    /// Records a checkpoint, which covers everything that is stored.
    mutating func publish(_ checkpoint: StorageCheckpoint, at time: Date) {
        lastCheckpoint = checkpoint.opID
        lastCheckpointLSN = checkpoint.lsn
        lastCheckpointAt = time
        keepaliveOp = nil
        snapshotLSN = nil
    }

    /// Where to continue reading the source, if it has the history that the stream began with.
    package func resumePosition(in history: SourceHistory?) -> SourcePosition? {
        guard let history, let lsn = lastCheckpointLSN ?? snapshotLSN else { return nil }
        return SourcePosition(lsn, of: history)
    }

    /// A newest write checkpoint's position, if the stream has not reached it yet.
    package func notReached(_ lsn: LSN?) -> LSN? {
        guard let lsn, let own = lastCheckpointLSN ?? snapshotLSN, lsn > own else { return nil }
        return lsn
    }
}

extension ReplicationStream {
    /// The stream of a record, with its config.
    package init(_ record: StreamRecord, _ config: StreamConfig) {
        self.init(record, content: config.content, plan: config.plan)
        if let next = record.next, let config = config.next {
            self.next = NextConfig(
                number: record.lastConfigNumber,
                content: config.content,
                versionLabel: next.versionLabel,
                plan: config.plan,
                filledTables: next.filledTables,
                isFilled: next.isFilled
            )
        }
    }

    /// A stream that is only to be deleted, if its record says so: this service cannot read its config.
    package init?(deleting record: StreamRecord) {
        guard record.state == .stop else { return nil }
        self.init(record, content: "", plan: .empty)
    }

    private init(_ record: StreamRecord, content: String, plan: SyncPlan) {
        self.init(
            id: record.id,
            state: record.state,
            sourceHandle: record.sourceHandle,
            content: content,
            plan: plan,
            isSnapshotDone: record.isSnapshotDone
        )
        versionLabel = record.versionLabel
        configNumber = record.configNumber
    }
}

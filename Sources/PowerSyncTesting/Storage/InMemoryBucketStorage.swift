import NIOConcurrencyHelpers
import NIOCore
package import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// A bucket storage that is obviously right: it keeps every operation of a bucket and every entry of a lookup as long as their
/// stream, and looks at all of them.
///
/// None of its operations waits.
package final class InMemoryBucketStorage: BucketStorage {
    /// What is kept of one stream.
    struct Stream {
        var record: StreamRecord
        var config: StreamConfig.Stored
        var next: StreamConfig.Stored?
        /// In the order of their ids.
        var operations: [BucketName: [Operation]] = [:]
        /// In the order of their ids.
        var entries: [ParameterLookup: [Entry]] = [:]
        var rows: [RowKey: Row] = [:]
        /// How many records of tables were ever made.
        var madeTables = 0
        var tables: [SourceTable] = []
    }

    struct Operation {
        var opID: OpID
        var kind: SyncOperation.Kind
        var table: String
        var id: String
        var subkey: String
        var data: String?
        var checksum: Checksum
    }

    struct Entry {
        var opID: OpID
        var row: RowKey
        var outputs: [ParameterRow]
    }

    struct RowKey: Hashable {
        var table: String
        var key: ReplicaID
    }

    struct Row {
        var memberships: [BucketRow] = []
        var entries: [ParameterEntry] = []
        /// Under what its operations were given.
        var owner: RowKey
    }

    struct Number {
        var number: WriteCheckpoint
        var lsn: LSN
        var history: Int64
    }

    struct State {
        /// The number of the first stream.
        let firstID: Int64
        var streams: [Stream] = []
        var lastOp = OpID.zero
        var histories: [SourceHistory] = []
        /// By the bytes of the users' keys.
        var numbers: [[UInt8]: Number] = [:]
        var visible: [[UInt8]: Number] = [:]

        /// The handle of a stream that is new.
        var newHandle: String { "slot\(streams.count + 1)" }

        /// Where a stream is.
        func index(of stream: ReplicationStreamID) -> Int { Int(stream.rawValue - firstID) }
    }

    let state: NIOLockedValueBox<State>
    /// The plans as they were deployed.
    private let configs = StreamConfigs(defaultSchema: "main")
    /// Tells of checkpoints.
    package let feed = CheckpointFeed()

    /// Creates an empty storage.
    ///
    /// - Parameter firstID: The number of its first stream, which is a part of the names of buckets.
    package init(firstID: Int64 = 1) {
        state = NIOLockedValueBox(State(firstID: firstID))
    }

    // MARK: Streams

    package func activeStream() throws -> ActiveReplicationStream? {
        // In one lock with what publishes, so that the config is that of the checkpoint.
        try state.withLockedValue { state in
            guard let checkpoint = feed.current else { return nil }
            let config = try configs.config(of: try state.record(of: checkpoint.streamID), in: state)
            return ActiveReplicationStream(plan: config.plan, checkpoint: checkpoint)
        }
    }

    package func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) throws -> ReplicationStream {
        try state.withLockedValue { state in
            let deployed = try state.deploy(
                content,
                plan,
                versionLabel: versionLabel,
                mode: mode,
                sourceHandle: state.newHandle,
                configs: configs
            )
            let record = deployed.record
            configs.keep(deployed.config, of: record)
            if record.state == .active, let checkpoint = record.checkpoint { feed.publish(checkpoint) }
            return ReplicationStream(record, deployed.config)
        }
    }

    package func restart(_ stream: ReplicationStreamID) throws -> ReplicationStream {
        try state.withLockedValue { state in
            let record = try state.restart(stream, sourceHandle: state.newHandle)
            return ReplicationStream(record, try configs.config(of: record, in: state))
        }
    }

    package func streams() throws -> [ReplicationStream] {
        try state.withLockedValue { try $0.streams(configs) }
    }

    package func progress(of stream: ReplicationStreamID) throws -> ReplicationStreamProgress {
        try state.withLockedValue { try $0.progress(of: stream) }
    }

    /// Does nothing: the storage cannot be put back.
    package func skipWriteCheckpoints(head: SourcePosition) {}

    package func deleteData(of stream: ReplicationStreamID) throws {
        state.withLockedValue { state in
            let index = state.index(of: stream)
            let record = state.streams[index].record
            guard record.state == .stop else { return }
            state.streams[index] = Stream(record: record, config: state.streams[index].config)
            state.setState(.terminated, of: stream)
        }
    }

    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        var writer: any BucketStorageWriter = try writer(of: stream)
        return try await body(&writer)
    }

    /// A writer of a stream of this storage.
    package func writer(of stream: ReplicationStreamID) throws -> any BucketStorageWriter {
        let session = InMemoryWriterSession(storage: self, streamID: stream)
        let (index, beginning) = try state.withLockedValue { state in
            (state.index(of: stream), try state.beginning(of: stream, configs))
        }
        // The same each time: ids of tables are a part of checksums.
        return BucketWriter(session, beginning) { [state] in
            let number = state.withLockedValue { state in
                defer { state.streams[index].madeTables += 1 }
                return state.streams[index].madeTables
            }
            return "table\(number)of\(index)"
        }
    }

    /// Waits for the end of the task, as there are no other processes.
    package func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
        try await ChangeSignal().wait(after: 0)
    }

    /// None: there is no log that a source could read.
    package func database() -> DatabaseID? { nil }

    // MARK: Reading

    package func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.serving)
    }

    package func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) throws -> CheckpointChanges {
        guard earlier.streamID == later.streamID else { return .unknown }
        let stream = try read(later)
        func isBetween(_ opID: OpID) -> Bool { opID > earlier.opID && opID <= later.opID }
        return .known(
            buckets: Set(stream.operations.filter { $0.value.contains { isBetween($0.opID) } }.keys),
            lookups: Set(stream.entries.filter { $0.value.contains { isBetween($0.opID) } }.keys)
        )
    }

    package func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) throws -> [ParameterLookup: [ParameterRow]] {
        let stream = try read(checkpoint)
        var result: [ParameterLookup: [ParameterRow]] = [:]
        for lookup in Set(lookups) {
            var newest: [RowKey: Entry] = [:]
            for entry in stream.entries[lookup, default: []] where entry.opID <= checkpoint.opID {
                newest[entry.row] = entry
            }
            let rows = Set(newest.values.flatMap(\.outputs))
            if !rows.isEmpty { result[lookup] = Array(rows) }
        }
        guard result.values.reduce(0, { $0 + $1.count }) <= limit else {
            throw BucketLimitError(limit: .parameterResults(limit: limit))
        }
        return result
    }

    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) throws -> [BucketName: BucketChecksum] {
        let stream = try read(checkpoint)
        return buckets.reduce(into: [:]) { result, bucket in
            let found = stream.operations[bucket, default: []].prefix { $0.opID <= checkpoint.opID }
            let sum = found.map(\.checksum).reduce(Checksum.zero, +)
            result[bucket] = BucketChecksum(checksum: sum, count: Int64(found.count))
        }
    }

    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) throws -> [BucketChunk] {
        let stream = try read(checkpoint)
        var chunks: [BucketChunk] = []
        var left = limits.operations
        for position in positions.sorted(by: { $0.name < $1.name }) where left > 0 {
            let found = stream.operations[position.name, default: []]
                .drop { $0.opID <= position.after }
                .prefix { $0.opID <= checkpoint.opID }
            let taken = found.prefix(left)
            left -= taken.count
            guard !taken.isEmpty else { continue }
            var line = DataLine(bucket: position.name, after: position.after)
            for operation in taken { line.append(operation) }
            line.hasMore = left == 0
            chunks.append(BucketChunk(line: line))
        }
        return chunks
    }

    private func read(_ checkpoint: StorageCheckpoint) throws -> Stream {
        let stream = state.withLockedValue { $0.streams[$0.index(of: checkpoint.streamID)] }
        guard stream.record.state != .stop, stream.record.state != .terminated else {
            throw BucketStorageError.replaced(checkpoint.streamID)
        }
        return stream
    }

    // MARK: Write checkpoints

    package func publishedPosition() throws -> SourcePosition? {
        try state.withLockedValue { try $0.publishedPosition() }
    }

    package func createWriteCheckpoint(userKey: String, head: SourcePosition) throws -> WriteCheckpoint {
        try record(userKey, head) { $0.map { WriteCheckpoint($0.number.rawValue + 1) } ?? WriteCheckpoint(1) }
    }

    package func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) throws -> WriteCheckpoint {
        try record(userKey, head) { old in max(id, old?.number ?? id) }
    }

    private func record(
        _ userKey: String,
        _ head: SourcePosition,
        _ next: (Number?) -> WriteCheckpoint
    ) throws -> WriteCheckpoint {
        guard feed.current != nil else { throw BucketStorageError.noActiveStream }
        let userKey = Array(userKey.utf8)
        return try state.withLockedValue { state in
            let old = state.numbers[userKey]
            let number = next(old)
            let live = state.streams.last { stream in
                (stream.record.state.isServed || stream.record.state.isReplicated)
                    && state.history(stream.record.historyID) == head.history
            }
            let history = live?.record.historyID ?? state.number(of: head.history)
            if let old, number == old.number { return number }
            if let old, let served = try state.served(), let checkpoint = served.checkpoint,
                old.isCovered(by: checkpoint, history: served.historyID)
            {
                state.visible[userKey] = old
            }
            state.numbers[userKey] = Number(number: number, lsn: head.lsn, history: history)
            return number
        }
    }

    package func visibleWriteCheckpoint(userKey: String, at checkpoint: StorageCheckpoint) throws -> WriteCheckpoint? {
        state.withLockedValue { state in
            let history = state.streams[state.index(of: checkpoint.streamID)].record.historyID
            let userKey = Array(userKey.utf8)
            return [state.numbers[userKey], state.visible[userKey]].compactMap(\.self)
                .first { $0.isCovered(by: checkpoint, history: history) }?.number
        }
    }

    package func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) throws -> LSN? {
        state.withLockedValue { state in
            let history = state.streams[state.index(of: checkpoint.streamID)].record.historyID
            guard let number = state.numbers[Array(userKey.utf8)], number.history == history else { return nil }
            return number.lsn > checkpoint.lsn ? number.lsn : nil
        }
    }

    package func close() {}
}

extension InMemoryBucketStorage.Number {
    fileprivate func isCovered(by checkpoint: StorageCheckpoint, history: Int64) -> Bool {
        self.history < history || self.history == history && lsn <= checkpoint.lsn
    }
}

extension DataLine {
    fileprivate mutating func append(_ operation: InMemoryBucketStorage.Operation) {
        func range(_ string: String) -> TextRange {
            let offset = text.readableBytes
            text.writeString(string)
            return TextRange(offset: offset, count: string.utf8.count)
        }
        var line = SyncOperation(opID: operation.opID, kind: operation.kind, checksum: operation.checksum)
        line.objectType = range(operation.table)
        line.objectID = range(operation.id)
        line.subkey = range(operation.subkey)
        line.data = operation.data.map(range)
        operations.append(line)
        nextAfter = operation.opID
    }
}

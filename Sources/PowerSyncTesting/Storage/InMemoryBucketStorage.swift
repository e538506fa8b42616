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
        var stream: ReplicationStream
        /// In the order of their ids.
        var operations: [BucketName: [Operation]] = [:]
        /// In the order of their ids.
        var entries: [ParameterLookup: [Entry]] = [:]
        /// The newest operation or entry.
        var lastOp = OpID.zero
        var rows: [RowKey: Row] = [:]
        var tables: [SourceTable] = []
        var resumePosition: SourcePosition?
        /// The number of ``resumePosition``'s history in ``State/histories``.
        var history = 0
        var checkpoint: StorageCheckpoint?
        var noCheckpointBefore: LSN?
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
    }

    fileprivate struct Number {
        var number: WriteCheckpoint
        var lsn: LSN
        var history: Int
    }

    struct State {
        /// The number of the first stream.
        let firstID: Int64
        var streams: [Stream] = []
        var lastOp = OpID.zero
        var histories: [SourceHistory] = []
        /// By the bytes of the users' keys.
        fileprivate var numbers: [[UInt8]: Number] = [:]
        fileprivate var visible: [[UInt8]: Number] = [:]

        /// The number of a history; that of one which comes again after another is a new one.
        mutating func number(of history: SourceHistory) -> Int {
            if histories.last != history { histories.append(history) }
            return histories.count
        }

        /// Where a stream is.
        func index(of stream: ReplicationStreamID) -> Int { Int(stream.rawValue - firstID) }

        /// Applies a rule to the streams.
        @discardableResult
        mutating func change<Result>(_ rule: (inout StreamSuccession) -> Result) -> Result {
            var succession = StreamSuccession(streams.map { ($0.stream.id, $0.stream.state) })
            let result = rule(&succession)
            for (id, state) in succession.changes { streams[index(of: id)].stream.state = state }
            return result
        }

        var served: Stream? { streams.last { $0.stream.state.isServed } }
    }

    let state: NIOLockedValueBox<State>
    /// Tells of checkpoints.
    package let feed = CheckpointFeed()

    /// Creates an empty storage.
    ///
    /// - Parameter firstID: The number of its first stream, which is a part of the names of buckets.
    package init(firstID: Int64 = 1) {
        state = NIOLockedValueBox(State(firstID: firstID))
    }

    // MARK: Streams

    package func activeStream() throws -> ActiveSyncStream? {
        guard let checkpoint = feed.current else { return nil }
        return state.withLockedValue { state in
            ActiveSyncStream(
                plan: state.streams[state.index(of: checkpoint.streamID)].stream.plan,
                checkpoint: checkpoint
            )
        }
    }

    package func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) throws -> ReplicationStream {
        state.withLockedValue { state in
            let same = state.streams.last { stream in
                mode == .ifChanged && stream.stream.state.isReplicated
                    && stream.stream.content.utf8.elementsEqual(content.utf8)
            }
            state.change { $0.deploy(keeping: same?.stream.id) }
            guard let same else { return state.append(content, versionLabel, plan) }
            let index = state.index(of: same.stream.id)
            state.streams[index].stream.versionLabel = versionLabel
            return state.streams[index].stream
        }
    }

    package func streams() throws -> [ReplicationStream] {
        state.withLockedValue { $0.streams.map(\.stream).filter { $0.state != .terminated } }
    }

    package func progress(of stream: ReplicationStreamID) throws -> StreamProgress {
        let found = state.withLockedValue { $0.streams[$0.index(of: stream)] }
        return StreamProgress(
            checkpoint: found.checkpoint,
            checkpointedAt: nil,
            resumePosition: found.resumePosition.map {
                SourcePosition(found.checkpoint?.lsn ?? $0.lsn, of: $0.history)
            },
            tables: found.tables
        )
    }

    package func restart(_ stream: ReplicationStreamID) throws -> ReplicationStream {
        try state.withLockedValue { state in
            let lost = state.streams[state.index(of: stream)].stream
            switch state.change({ $0.restart(stream) }) {
            case .new: return state.append(lost.content, lost.versionLabel, lost.plan)
            case .stream(let successor): return state.streams[state.index(of: successor)].stream
            case .none: throw BucketStorageError.replaced(stream)
            }
        }
    }

    package func deleteData(of stream: ReplicationStreamID) throws {
        state.withLockedValue { state in
            let index = state.index(of: stream)
            guard state.streams[index].stream.state == .stop else { return }
            state.streams[index].stream.state = .terminated
            state.streams[index].operations = [:]
            state.streams[index].entries = [:]
            state.streams[index].rows = [:]
        }
    }

    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        var writer: any BucketStorageWriter = writer(of: stream)
        let isReplicated = state.withLockedValue { $0.streams[$0.index(of: stream)].stream.state.isReplicated }
        guard isReplicated else { throw BucketStorageError.replaced(stream) }
        return try await body(&writer)
    }

    /// A writer of a stream of this storage.
    func writer(of stream: ReplicationStreamID) -> InMemoryBucketWriter {
        InMemoryBucketWriter(storage: self, index: state.withLockedValue { $0.index(of: stream) })
    }

    /// A writer of a stream of this storage that is not bound to a scope.
    package func unboundWriter(of stream: ReplicationStreamID) -> any BucketStorageWriter { writer(of: stream) }

    // MARK: Reading

    package func checkpoints(of stream: ActiveSyncStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.id)
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
        guard stream.stream.state != .stop, stream.stream.state != .terminated else {
            throw BucketStorageError(.unknownStream, "replaced")
        }
        return stream
    }

    // MARK: Write checkpoints

    package func publishedPosition() throws -> SourcePosition? {
        state.withLockedValue { state in
            guard let served = state.served, let lsn = served.checkpoint?.lsn else { return nil }
            return served.resumePosition.map { SourcePosition(lsn, of: $0.history) }
        }
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
        return state.withLockedValue { state in
            let old = state.numbers[userKey]
            let number = next(old)
            let live = state.streams.last { stream in
                (stream.stream.state.isServed || stream.stream.state.isReplicated)
                    && stream.resumePosition?.history == head.history
            }
            let history = live?.history ?? state.number(of: head.history)
            if let old, number == old.number { return number }
            if let old, let served = state.served, let checkpoint = served.checkpoint,
                old.isCovered(by: checkpoint, history: served.history)
            {
                state.visible[userKey] = old
            }
            state.numbers[userKey] = Number(number: number, lsn: head.lsn, history: history)
            return number
        }
    }

    package func visibleWriteCheckpoint(userKey: String, at checkpoint: StorageCheckpoint) throws -> WriteCheckpoint? {
        state.withLockedValue { state in
            let history = state.streams[state.index(of: checkpoint.streamID)].history
            let userKey = Array(userKey.utf8)
            return [state.numbers[userKey], state.visible[userKey]].compactMap(\.self)
                .first { $0.isCovered(by: checkpoint, history: history) }?.number
        }
    }

    package func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) throws -> LSN? {
        state.withLockedValue { state in
            let history = state.streams[state.index(of: checkpoint.streamID)].history
            guard let number = state.numbers[Array(userKey.utf8)], number.history == history else { return nil }
            return number.lsn > checkpoint.lsn ? number.lsn : nil
        }
    }

    package func close() {}
}

extension InMemoryBucketStorage.State {
    fileprivate mutating func append(
        _ content: String,
        _ versionLabel: String?,
        _ plan: SyncPlan
    ) -> ReplicationStream {
        var stream = ReplicationStream(
            id: ReplicationStreamID(rawValue: firstID + Int64(streams.count)),
            state: .processing,
            slotName: "slot\(streams.count + 1)",
            content: content,
            plan: plan,
            isSnapshotDone: false
        )
        stream.versionLabel = versionLabel
        streams.append(InMemoryBucketStorage.Stream(stream: stream))
        return stream
    }
}

extension InMemoryBucketStorage.Number {
    fileprivate func isCovered(by checkpoint: StorageCheckpoint, history: Int) -> Bool {
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

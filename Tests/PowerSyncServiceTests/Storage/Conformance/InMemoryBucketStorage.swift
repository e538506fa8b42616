import NIOCore
import PowerSyncProtocol
import PowerSyncRules
import Synchronization

@testable import PowerSyncServiceCore

/// A bucket storage that is obviously right: it keeps every operation and entry for ever, and searches all of them.
final class InMemoryBucketStorage: BucketStorage {
    /// What is kept of one stream.
    struct Stream {
        var stream: ReplicationStream
        var operations: [Operation] = []
        var entries: [Entry] = []
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
        var bucket: BucketName
        var kind: SyncOperation.Kind
        var table: String
        var id: String
        var subkey: String
        var data: String?
        var checksum: Checksum
    }

    struct Entry {
        var opID: OpID
        var lookup: ParameterLookup
        var row: RowKey
        var outputs: [ParameterRow]
    }

    struct RowKey: Hashable {
        var table: String
        var key: ReplicaID
    }

    struct Row {
        var memberships: [BucketRow] = []
        var lookups: [ParameterLookup] = []
    }

    fileprivate struct Number {
        var number: WriteCheckpoint
        var lsn: LSN
        var history: Int
    }

    struct State {
        var streams: [Stream] = []
        var lastOp = OpID.zero
        var histories: [SourceHistory] = []
        fileprivate var numbers: [String: Number] = [:]
        fileprivate var visible: [String: Number] = [:]

        /// The number of a history; that of one which comes again after another is a new one.
        mutating func number(of history: SourceHistory) -> Int {
            if histories.last != history { histories.append(history) }
            return histories.count
        }

        var served: Stream? { streams.last { $0.stream.state.isServed } }
    }

    let state = Mutex(State())
    let feed = CheckpointFeed()

    // MARK: Streams

    func activeStream() async throws -> ActiveSyncStream? {
        state.withLock { $0.served.map { ActiveSyncStream(id: $0.stream.id, plan: $0.stream.plan) } }
    }

    func deploy(_ content: String, plan: SyncPlan) async throws -> ReplicationStream {
        state.withLock { state in
            if let newest = state.streams.last(where: { $0.stream.state.isReplicated }),
                newest.stream.content == content
            {
                return newest.stream
            }
            for index in state.streams.indices where state.streams[index].stream.state == .processing {
                state.streams[index].stream.state = .stop
            }
            return state.append(content, plan)
        }
    }

    func streams() async throws -> [ReplicationStream] {
        state.withLock { $0.streams.map(\.stream).filter { $0.state != .terminated } }
    }

    func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        state.withLock { state in
            let index = Int(stream.rawValue) - 1
            let lost = state.streams[index].stream
            state.streams[index].stream.state = lost.state == .active ? .errored : .stop
            return state.append(lost.content, lost.plan)
        }
    }

    func deleteData(of stream: ReplicationStreamID) async throws {
        state.withLock { state in
            let index = Int(stream.rawValue) - 1
            guard state.streams[index].stream.state == .stop else { return }
            state.streams[index].stream.state = .terminated
        }
    }

    func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        var writer: any BucketStorageWriter = InMemoryBucketWriter(storage: self, index: Int(stream.rawValue) - 1)
        return try await body(&writer)
    }

    // MARK: Reading

    func checkpoints(of stream: ActiveSyncStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.id)
    }

    func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) async throws -> CheckpointChanges {
        guard earlier.streamID == later.streamID else { return .unknown }
        let stream = try read(later)
        func isBetween(_ opID: OpID) -> Bool { opID > earlier.opID && opID <= later.opID }
        return .known(
            buckets: Set(stream.operations.filter { isBetween($0.opID) }.map(\.bucket)),
            lookups: Set(stream.entries.filter { isBetween($0.opID) }.map(\.lookup))
        )
    }

    func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        let entries = try read(checkpoint).entries.filter { $0.opID <= checkpoint.opID }
        var result: [ParameterLookup: [ParameterRow]] = [:]
        for lookup in Set(lookups) {
            var newest: [RowKey: Entry] = [:]
            for entry in entries where entry.lookup == lookup { newest[entry.row] = entry }
            let rows = newest.values.flatMap(\.outputs)
            if !rows.isEmpty { result[lookup] = rows }
        }
        guard result.values.reduce(0, { $0 + $1.count }) <= limit else {
            throw BucketLimitError(limit: .parameterResults(limit: limit))
        }
        return result
    }

    func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        let stream = try read(checkpoint)
        return buckets.reduce(into: [:]) { result, bucket in
            let found = stream.operations.filter { $0.bucket == bucket && $0.opID <= checkpoint.opID }
            let sum = found.map(\.checksum).reduce(Checksum.zero, +)
            result[bucket] = BucketChecksum(checksum: sum, count: Int64(found.count))
        }
    }

    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        let stream = try read(checkpoint)
        var chunks: [BucketChunk] = []
        var left = limits.operations
        for position in positions.sorted(by: { $0.name < $1.name }) where left > 0 {
            let found = stream.operations.filter {
                $0.bucket == position.name && $0.opID > position.after && $0.opID <= checkpoint.opID
            }
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
        let stream = state.withLock { $0.streams[Int(checkpoint.streamID.rawValue) - 1] }
        guard stream.stream.state != .stop, stream.stream.state != .terminated else {
            throw BucketStorageError(.unknownStream, "replaced")
        }
        return stream
    }

    // MARK: Write checkpoints

    func publishedPosition() async throws -> SourcePosition? {
        state.withLock { state in
            guard let served = state.served, let lsn = served.checkpoint?.lsn else { return nil }
            return served.resumePosition.map { SourcePosition(lsn, of: $0.history) }
        }
    }

    func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint {
        try record(userKey, head) { $0.map { WriteCheckpoint($0.number.rawValue + 1) } ?? WriteCheckpoint(1) }
    }

    func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint {
        try record(userKey, head) { old in max(id, old?.number ?? id) }
    }

    private func record(
        _ userKey: String,
        _ head: SourcePosition,
        _ next: (Number?) -> WriteCheckpoint
    ) throws -> WriteCheckpoint {
        guard feed.current != nil else { throw BucketStorageError.noActiveStream }
        return state.withLock { state in
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

    func visibleWriteCheckpoint(userKey: String, at checkpoint: StorageCheckpoint) async throws -> WriteCheckpoint? {
        state.withLock { state in
            let history = state.streams[Int(checkpoint.streamID.rawValue) - 1].history
            return [state.numbers[userKey], state.visible[userKey]].compactMap(\.self)
                .first { $0.isCovered(by: checkpoint, history: history) }?.number
        }
    }

    func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN? {
        state.withLock { state in
            let history = state.streams[Int(checkpoint.streamID.rawValue) - 1].history
            guard let number = state.numbers[userKey], number.history == history else { return nil }
            return number.lsn > checkpoint.lsn ? number.lsn : nil
        }
    }

    func seal() async throws {}

    func compact() async throws -> CompactionResult { CompactionResult() }

    func close() throws {}
}

extension InMemoryBucketStorage.State {
    fileprivate mutating func append(_ content: String, _ plan: SyncPlan) -> ReplicationStream {
        let stream = ReplicationStream(
            id: ReplicationStreamID(rawValue: Int64(streams.count) + 1),
            state: .processing,
            slotName: "slot\(streams.count + 1)",
            content: content,
            plan: plan,
            isSnapshotDone: false
        )
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

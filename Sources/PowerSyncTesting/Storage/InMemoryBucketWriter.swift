import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The writer of an ``InMemoryBucketStorage``: every call takes effect at once.
struct InMemoryBucketWriter: BucketStorageWriter {
    let storage: InMemoryBucketStorage
    /// The position of the stream in the storage.
    let index: Int

    var resumePosition: SourcePosition? {
        stream.checkpoint.flatMap { checkpoint in
            stream.resumePosition.map { SourcePosition(checkpoint.lsn, of: $0.history) }
        } ?? stream.resumePosition
    }

    var reachedLSN: LSN? { nil }
    var storedLSN: LSN? { nil }

    var sourceTables: [SourceTable] { stream.tables }

    private var stream: InMemoryBucketStorage.Stream { storage.state.withLockedValue { $0.streams[index] } }

    private func change(_ body: (inout InMemoryBucketStorage.Stream, inout OpID) -> Void) {
        storage.state.withLockedValue { state in body(&state.streams[index], &state.lastOp) }
    }

    // MARK: Tables

    mutating func resolveTable(_ descriptor: SourceTableDescriptor) throws -> ResolvedTable {
        let candidates = stream.tables.filter {
            $0.descriptor.relationID == descriptor.relationID || $0.descriptor.name == descriptor.name
        }
        if let kept = candidates.first(where: { $0.descriptor == descriptor }) {
            return ResolvedTable(table: kept, outdated: candidates.filter { $0.id != kept.id })
        }
        let table = SourceTable(id: "table\(stream.tables.count)of\(index)", descriptor: descriptor)
        change { stream, _ in stream.tables.append(table) }
        return ResolvedTable(table: table, outdated: candidates)
    }

    mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) throws {
        try truncate(table, touch: touch)
        change { stream, _ in stream.tables.removeAll { $0.id == table.id } }
    }

    mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) throws {
        defer { touch() }
        change { stream, lastOp in
            for key in stream.rows.keys where key.table == table.id { stream.remove(key, &lastOp) }
        }
    }

    // MARK: Changes

    mutating func save(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode
    ) throws -> [RejectedRow] {
        let (plan, prefix) = (stream.stream.plan, stream.stream.bucketPrefix)
        var evaluator = ChangeEvaluator(plan: plan, bucketPrefix: prefix, hashKey: [], table: table, mode: mode)
        let records = changes.map { evaluator.evaluate($0) }
        change { stream, lastOp in
            for record in records { stream.apply(record, &lastOp) }
        }
        return records.flatMap(\.rejections)
    }

    mutating func flush() throws {}

    // MARK: Checkpoints

    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) throws -> CommitResult {
        try storage.state.withLockedValue { state -> CommitResult in
            let stream = state.streams[index]
            guard stream.stream.state.isReplicated else {
                throw BucketStorageError.replaced(stream.stream.id)
            }
            let isAllowed =
                stream.stream.isSnapshotDone && stream.checkpoint.map { $0.lsn <= lsn } ?? true
                && stream.noCheckpointBefore.map { $0 <= lsn } ?? true
            guard isAllowed else { return .blocked }
            let opID = max(stream.lastOp, stream.checkpoint?.opID ?? .zero)
            if !createsEmptyCheckpoints, opID == stream.checkpoint?.opID { return .unchanged }
            let checkpoint = StorageCheckpoint(streamID: stream.stream.id, opID: opID, lsn: lsn)
            if stream.stream.state == .processing, !state.change({ $0.activate(stream.stream.id) }) {
                throw BucketStorageError.replaced(stream.stream.id)
            }
            state.streams[index].checkpoint = checkpoint
            // Nobody sees that the stream is active before its checkpoint is there.
            storage.feed.publish(checkpoint)
            return .created(checkpoint)
        }
    }

    mutating func beginTransaction(endingAt lsn: LSN) {
        change { stream, _ in stream.noCheckpointBefore = max(stream.noCheckpointBefore ?? lsn, lsn) }
    }

    mutating func forbidCheckpoints(before lsn: LSN) throws {
        change { stream, _ in stream.noCheckpointBefore = max(stream.noCheckpointBefore ?? lsn, lsn) }
    }

    mutating func makeDurable() throws -> DurablePosition? {
        stream.checkpoint.flatMap { _ in resumePosition.map { DurablePosition(confirmedByDisk: $0) } }
    }

    mutating func setResumePosition(_ position: SourcePosition) throws {
        storage.state.withLockedValue { state in
            state.streams[index].resumePosition = position
            state.streams[index].history = state.number(of: position.history)
        }
    }

    // MARK: Snapshots

    mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
        change { stream, _ in
            for index in stream.tables.indices where stream.tables[index].id == table.id {
                stream.tables[index].lastSnapshotKey = lastKey
            }
        }
    }

    mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) throws {
        change { stream, _ in
            for index in stream.tables.indices where stream.tables[index].id == table.id {
                stream.tables[index].isSnapshotDone = true
            }
            stream.noCheckpointBefore = max(stream.noCheckpointBefore ?? lsn, lsn)
        }
    }

    mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) throws {
        change { stream, _ in
            stream.stream.isSnapshotDone = true
            stream.noCheckpointBefore = max(stream.noCheckpointBefore ?? lsn, lsn)
        }
    }
}

extension InMemoryBucketStorage.Stream {
    /// The write path of docs/service.md "Rows and operations".
    fileprivate mutating func apply(_ record: PendingRecord, _ lastOp: inout OpID) {
        let before = InMemoryBucketStorage.RowKey(table: record.tableID, key: record.beforeKey)
        if record.skipsStoredRow, rows[before] != nil { return }
        guard let content = record.content else { return remove(before, &lastOp) }
        let after = InMemoryBucketStorage.RowKey(table: record.tableID, key: content.key)
        if after != before, record.kind != .insert { remove(before, &lastOp) }
        let old = record.kind == .insert || after != before ? nil : rows[after]
        for (row, hash) in content.rows {
            // What is there already is not given again.
            if old?.memberships.contains(where: { $0.isSame(as: row) && $0.data.utf8.elementsEqual(row.data.utf8) })
                == true
            {
                continue
            }
            append(.put, row, after, hash.checksum, row.data, &lastOp)
        }
        var kept: [BucketRow] = []
        for row in old?.memberships ?? [] where !content.rows.contains(where: { $0.row.isSame(as: row) }) {
            if content.withheld.contains(where: { $0.isSame(as: row) }) {
                kept.append(row)
            } else {
                append(.remove, row, after, nil, nil, &lastOp)
            }
        }
        let entries = content.entries.map(\.entry)
        for entry in entries {
            let same = old?.entries.first { $0.lookup == entry.lookup }
            // The bytes decide: to Swift, some texts are equal that are not the same.
            if let same, StoredValues.encode(same.rows) == StoredValues.encode(entry.rows) { continue }
            append(entry.lookup, entry.rows, after, &lastOp)
        }
        for entry in old?.entries ?? [] where !entries.contains(where: { $0.lookup == entry.lookup }) {
            append(entry.lookup, [], after, &lastOp)
        }
        rows[after] = InMemoryBucketStorage.Row(
            memberships: content.rows.map(\.row) + kept,
            entries: entries
        )
    }

    fileprivate mutating func remove(_ key: InMemoryBucketStorage.RowKey, _ lastOp: inout OpID) {
        guard let old = rows.removeValue(forKey: key) else { return }
        for row in old.memberships { append(.remove, row, key, nil, nil, &lastOp) }
        for entry in old.entries { append(entry.lookup, [], key, &lastOp) }
    }

    private mutating func append(
        _ kind: SyncOperation.Kind,
        _ row: BucketRow,
        _ key: InMemoryBucketStorage.RowKey,
        _ checksum: Checksum?,
        _ data: String?,
        _ lastOp: inout OpID
    ) {
        advance(&lastOp)
        let subkey = "\(key.table)/\(key.key)"
        operations[row.bucket, default: []].append(
            InMemoryBucketStorage.Operation(
                opID: lastOp,
                kind: kind,
                table: row.table,
                id: row.id,
                subkey: subkey,
                data: data,
                checksum: checksum ?? .remove(subkey: Array(subkey.utf8))
            )
        )
    }

    private mutating func append(
        _ lookup: ParameterLookup,
        _ outputs: [ParameterRow],
        _ row: InMemoryBucketStorage.RowKey,
        _ lastOp: inout OpID
    ) {
        advance(&lastOp)
        entries[lookup, default: []].append(InMemoryBucketStorage.Entry(opID: lastOp, row: row, outputs: outputs))
    }

    private mutating func advance(_ lastOp: inout OpID) {
        lastOp = OpID(lastOp.rawValue + 1)
        self.lastOp = lastOp
    }
}

extension BucketRow {
    fileprivate func isSame(as other: BucketRow) -> Bool {
        bucket == other.bucket && table == other.table && id == other.id
    }
}

import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Runs the transactions of a writer of an ``InMemoryBucketStorage``.
struct InMemoryWriterSession: WriterSession {
    let storage: InMemoryBucketStorage
    let streamID: ReplicationStreamID

    func record() throws -> StreamRecord {
        let record = try storage.state.withLockedValue { try $0.record(of: streamID) }
        guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
        return record
    }

    func history(_ number: Int64) -> SourceHistory? {
        storage.state.withLockedValue { $0.history(number) }
    }

    func write<Value: Sendable>(
        _ activity: String,
        _ purpose: WritePurpose,
        _ body: @escaping @Sendable (inout InMemoryWriterTransaction) throws -> Value
    ) throws -> Value {
        try storage.write(to: streamID, body)
    }

    func waitForDisk() {}
}

extension InMemoryBucketStorage {
    /// Writes to a stream; nothing is taken back when `body` throws.
    func write<Value>(
        to stream: ReplicationStreamID,
        _ body: (inout InMemoryWriterTransaction) throws -> Value
    ) throws -> Value {
        try state.withLockedValue { state in
            let record = try state.record(of: stream)
            guard record.state.isReplicated else { throw BucketStorageError.replaced(stream) }
            // Taken out of the box meanwhile, so that nothing of it is copied.
            var transaction = InMemoryWriterTransaction(state, record)
            state = State(firstID: state.firstID)
            defer { state = transaction.streams }
            let value = try body(&transaction)
            transaction.finish()
            // In the lock: no reader sees that the stream is active before its checkpoint is there.
            if let checkpoint = transaction.stream.published { feed.publish(checkpoint) }
            return value
        }
    }
}

/// Writes to the state of an ``InMemoryBucketStorage``.
struct InMemoryWriterTransaction: WriterTransaction {
    var streams: InMemoryBucketStorage.State
    var stream: StreamChange
    var now: Date { Date() }

    fileprivate init(_ state: InMemoryBucketStorage.State, _ record: StreamRecord) {
        streams = state
        stream = StreamChange(record)
    }

    /// Where the stream is.
    private var index: Int { streams.index(of: stream.record.id) }

    /// Stores the record of the stream, whose state may have been changed.
    fileprivate mutating func finish() {
        let state = streams.streams[index].record.state
        streams.streams[index].record = stream.record
        streams.streams[index].record.state = state
    }

    // MARK: Tables

    mutating func insert(_ table: SourceTable) { streams.streams[index].tables.append(table) }

    mutating func delete(_ table: SourceTable) {
        streams.streams[index].tables.removeAll { $0.id == table.id }
    }

    mutating func update(_ table: SourceTable) {
        let stream = index
        for index in streams.streams[stream].tables.indices where streams.streams[stream].tables[index].id == table.id {
            streams.streams[stream].tables[index] = table
        }
    }

    // MARK: Rows

    mutating func write(_ records: [PendingRecord]) -> OpID? {
        var isUnmatched = false
        let lastOp = changeRows { stream, lastOp in
            for record in records where stream.apply(record, &lastOp) { isUnmatched = true }
        }
        if isUnmatched { stream.hasUnmatched = true }
        return lastOp
    }

    mutating func removeRows(of table: SourceTable) -> (isFinished: Bool, lastOp: OpID?) {
        let lastOp = changeRows { stream, lastOp in
            for key in stream.rows.keys where key.table == table.id { stream.remove(key, &lastOp) }
        }
        return (true, lastOp)
    }

    /// - Returns: The last op id; `nil` when there are none.
    private mutating func changeRows(_ body: (inout InMemoryBucketStorage.Stream, inout OpID) -> Void) -> OpID? {
        let before = streams.lastOp
        body(&streams.streams[index], &streams.lastOp)
        return streams.lastOp == before ? nil : streams.lastOp
    }
}

extension InMemoryBucketStorage.Stream {
    /// The write path of docs/service.md "Rows and operations".
    ///
    /// - Returns: Whether the row may be one that its table has of an earlier record, and was not found.
    fileprivate mutating func apply(_ record: PendingRecord, _ lastOp: inout OpID) -> Bool {
        let before = InMemoryBucketStorage.RowKey(table: record.tableID, key: record.beforeKey)
        if record.skipsStoredRow, rows[before] != nil { return false }
        if record.keepsLargerNumber, let stored = rows[before]?.largestNumber,
            record.content?.entries.contains(where: { $0.entry.rows.largestNumber > stored }) != true
        {
            return false
        }
        var isUnmatched = false
        if rows[before] == nil, let earlier = record.earlier {
            let place = earlier.key.map { InMemoryBucketStorage.RowKey(table: earlier.tableID, key: $0) }
            if let place, let row = rows.removeValue(forKey: place) {
                rows[before] = row
            } else {
                isUnmatched = !earlier.isKnown
            }
        }
        guard let content = record.content else {
            remove(before, &lastOp)
            return isUnmatched
        }
        let after = InMemoryBucketStorage.RowKey(table: record.tableID, key: content.key)
        if let primaryKey = content.primaryKey {
            if after != before, let row = rows.removeValue(forKey: before) { rows[after] = row }
            if rows[after].map({ $0.owner.key != primaryKey }) == true { remove(after, &lastOp) }
        } else if after != before, record.kind != .insert {
            remove(before, &lastOp)
        }
        let isReplaced = record.kind != .insert && (after == before || content.primaryKey != nil)
        put(content, replacing: isReplaced ? rows[after] : nil, at: after, &lastOp)
        return isUnmatched
    }

    private mutating func put(
        _ content: PendingRecord.Content,
        replacing old: InMemoryBucketStorage.Row?,
        at place: InMemoryBucketStorage.RowKey,
        _ lastOp: inout OpID
    ) {
        var owner = place
        if let primaryKey = content.primaryKey { owner.key = primaryKey }
        owner = old?.owner ?? owner
        for (row, hash) in content.rows {
            // What is there already is not given again.
            if old?.memberships.contains(where: { $0.isSame(as: row) && $0.data.utf8.elementsEqual(row.data.utf8) })
                == true
            {
                continue
            }
            append(.put, row, owner, hash.checksum, row.data, &lastOp)
        }
        var kept: [BucketRow] = []
        for row in old?.memberships ?? [] where !content.rows.contains(where: { $0.row.isSame(as: row) }) {
            if content.isAddition || content.withheld.contains(where: { $0.isSame(as: row) }) {
                kept.append(row)
            } else {
                append(.remove, row, owner, nil, nil, &lastOp)
            }
        }
        var entries = content.entries.map(\.entry)
        for entry in entries {
            let same = old?.entries.first { $0.lookup == entry.lookup }
            // The bytes decide: to Swift, some texts are equal that are not the same.
            if let same, StoredValues.encode(same.rows) == StoredValues.encode(entry.rows) { continue }
            append(entry.lookup, entry.rows, owner, &lastOp)
        }
        for entry in old?.entries ?? [] where !entries.contains(where: { $0.lookup == entry.lookup }) {
            if content.isAddition {
                entries.append(entry)
            } else {
                append(entry.lookup, [], owner, &lastOp)
            }
        }
        rows[place] = InMemoryBucketStorage.Row(
            memberships: content.rows.map(\.row) + kept,
            entries: entries,
            owner: owner
        )
    }

    fileprivate mutating func remove(_ key: InMemoryBucketStorage.RowKey, _ lastOp: inout OpID) {
        guard let old = rows.removeValue(forKey: key) else { return }
        for row in old.memberships { append(.remove, row, old.owner, nil, nil, &lastOp) }
        for entry in old.entries { append(entry.lookup, [], old.owner, &lastOp) }
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
    }
}

extension BucketRow {
    fileprivate func isSame(as other: BucketRow) -> Bool {
        bucket == other.bucket && table == other.table && id == other.id
    }
}

extension InMemoryBucketStorage.Row {
    /// The number of a write checkpoint that a row of the source has told.
    fileprivate var largestNumber: Int64 { entries.flatMap(\.rows).largestNumber }
}

extension [ParameterRow] {
    fileprivate var largestNumber: Int64 { flatMap(\.values).compactMap(\.exactInteger).max() ?? 0 }
}

extension SQLValue {
    fileprivate var exactInteger: Int64? { if case .integer(let number) = self { number } else { nil } }
}

import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The writer of one replication stream (docs/service.md "Rows and operations").
///
/// Rows are evaluated when they are saved, outside of any transaction. All transactions run in the session of the lease. A flush
/// that is interrupted between two of them leaves a prefix of the changes, which is repeated when the source is read again.
struct PostgresBucketWriter: BucketStorageWriter {
    private let storage: PostgresBucketStorage
    private let lease: WriterLease
    private let streamID: ReplicationStreamID

    private(set) var resumePosition: SourcePosition?
    let reachedLSN: LSN?
    let storedLSN: LSN?
    private var tables: [String: SourceTable]
    /// Saved and not yet written.
    private var pending: PendingChanges
    /// Where the transaction ends that is being saved.
    private var transactionEnd: LSN?
    /// Whether clients are known to be served from the stream; else its next commit may change that.
    private var isActive: Bool

    /// Creates a writer.
    init(
        storage: PostgresBucketStorage,
        lease: WriterLease,
        streamID: ReplicationStreamID,
        plan: SyncPlan,
        hashKey: [UInt8],
        isActive: Bool,
        resumePosition: SourcePosition?,
        reachedLSN: LSN?,
        storedLSN: LSN?,
        tables: [SourceTable]
    ) {
        self.storage = storage
        self.lease = lease
        self.streamID = streamID
        pending = PendingChanges(plan: plan, bucketPrefix: streamID.bucketPrefix, hashKey: hashKey)
        self.isActive = isActive
        self.resumePosition = resumePosition
        self.reachedLSN = reachedLSN
        self.storedLSN = storedLSN
        self.tables = Dictionary(uniqueKeysWithValues: tables.map { ($0.id, $0) })
    }

    var sourceTables: [SourceTable] { Array(tables.values) }

    // MARK: Tables

    mutating func resolveTable(_ descriptor: SourceTableDescriptor) async throws -> ResolvedTable {
        let resolved = ResolvedTable(descriptor, among: tables.values, makeID: storage.makeID)
        if tables[resolved.table.id] == nil {
            try await lease.write("storing a table") { [streamID, table = resolved.table] db, _ in
                try table.insert(of: streamID, db)
            }
            tables[resolved.table.id] = resolved.table
        }
        return resolved
    }

    mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await truncate(table, touch: touch)
        try await lease.write("forgetting a table") { db, _ in
            try db.run("DELETE FROM \(db.schema).source_tables WHERE id = $1", [.text(table.id)])
        }
        tables[table.id] = nil
        pending.forget(table)
    }

    mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await flush()
        while true {
            let isFinished = try await lease.write("removing the rows of a table") { [transactionEnd] db, record in
                var changes = StreamChanges(noCheckpointBefore: transactionEnd)
                var store = RecordStore(try PostgresRecordTables(db, record))
                let isFinished = try store.removeRows(of: table.id)
                changes.lastOp = try store.finish()
                try changes.write(record, db)
                return isFinished
            }
            touch()
            if isFinished { return }
        }
    }

    // MARK: Changes

    mutating func save(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode
    ) async throws -> [RejectedRow] {
        try await pending.add(changes, of: table, mode: mode) { [lease, transactionEnd] batch in
            try await Self.store(batch, before: transactionEnd, with: lease)
        }
    }

    mutating func beginTransaction(endingAt lsn: LSN) {
        transactionEnd = max(transactionEnd ?? lsn, lsn)
    }

    mutating func flush() async throws {
        guard !pending.isEmpty else { return }
        try await Self.store(pending.take(), before: transactionEnd, with: lease)
    }

    /// Stores changes that no checkpoint shows yet.
    private static func store(
        _ batch: PendingChanges.Batch,
        before transactionEnd: LSN?,
        with lease: WriterLease
    ) async throws {
        try await lease.write("storing changes") { db, record in
            // Nobody sees it yet: what is lost with the server is read again.
            try db.run("SET LOCAL synchronous_commit TO off")
            try StreamChanges(noCheckpointBefore: transactionEnd, lastOp: write(batch, record, db)).write(record, db)
        }
    }

    // MARK: Checkpoints

    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let end = transactionEnd.flatMap { $0 > lsn ? $0 : nil }
        if pending.isEmpty, end == nil, !createsEmptyCheckpoints {
            // A transaction that locks a row is in the log of the server, which may be the one that is replicated.
            let result = try await lease.statements("looking for something to publish") { [lease] db in
                let record = try lease.record(locked: false, db)
                return try CommitDecision(record: record, lsn: lsn, createsEmptyCheckpoints: false).result
            }
            transactionEnd = nil
            if case .created = result {} else { return result }
        }
        let batch = pending.take()
        let result = try await lease.statements("committing changes") { [storage, lease, isActive] db in
            let result = try db.transaction {
                if !isActive { try storage.schema.lockStreams(db) }
                var record = try lease.record(locked: true, db)
                record = try StreamChanges(noCheckpointBefore: end, lastOp: Self.write(batch, record, db))
                    .write(record, db)
                let decision = try CommitDecision(
                    record: record,
                    lsn: lsn,
                    createsEmptyCheckpoints: createsEmptyCheckpoints
                )
                return try Self.store(decision, of: record.id, storage, db) ? decision.result : nil
            }
            // Not after the call: a cancelled task does not come back, even if its transaction was committed.
            if case .created(let checkpoint) = result { storage.feed.publish(checkpoint) }
            return result
        }
        guard let result else { throw BucketStorageError.replaced(streamID) }
        if case .created = result {
            isActive = true
            resumePosition?.lsn = lsn
        }
        transactionEnd = end
        return result
    }

    /// Stores what was decided.
    ///
    /// - Returns: Whether clients may be served from the stream; if not, it is stopped.
    private static func store(
        _ decision: CommitDecision,
        of stream: ReplicationStreamID,
        _ storage: PostgresBucketStorage,
        _ db: PostgresStatements
    ) throws -> Bool {
        guard case .created(let checkpoint) = decision.result else { return true }
        if decision.activates, try !StreamSuccession.change(db, { $0.activate(stream) }) {
            try storage.schema.notify(db)
            return false
        }
        let update = PostgresStatements.Statement(
            sql: """
                UPDATE \(db.schema).replication_streams SET last_checkpoint = $1, last_checkpoint_lsn = $2,
                    last_checkpoint_at = to_timestamp($3::text::double precision), keepalive_op = NULL, snapshot_lsn = NULL
                WHERE id = $4
                """,
            arguments: [
                .integer(checkpoint.opID.rawValue), .text(checkpoint.lsn.rawValue),
                .text("\(storage.now().timeIntervalSince1970)"), .integer(stream.rawValue),
            ]
        )
        try db.run(together: [storage.schema.publishing, update, storage.schema.notification])
        return true
    }

    mutating func forbidCheckpoints(before lsn: LSN) async throws {
        try await lease.write("storing a position") { db, record in
            try StreamChanges(noCheckpointBefore: lsn).write(record, db)
        }
    }

    mutating func makeDurable() async throws -> DurablePosition? {
        // A commit that makes a checkpoint has waited for the disk.
        let position = try await lease.statements("reading the last checkpoint") { [lease] db in
            let record = try lease.record(locked: false, db)
            guard record.lastCheckpointLSN != nil else { return nil as SourcePosition? }
            return record.resumePosition(in: try SourceHistory.find(record.historyID, db))
        }
        return position.map { DurablePosition(confirmedByDisk: $0) }
    }

    mutating func setResumePosition(_ position: SourcePosition) async throws {
        try await lease.write("storing a position") { [storage] db, record in
            try storage.lockHistories(db)
            try db.run(
                "UPDATE \(db.schema).replication_streams SET snapshot_lsn = $1, history_id = $2 WHERE id = $3",
                [
                    .text(position.lsn.rawValue), .integer(try position.history.number(db)),
                    .integer(record.id.rawValue),
                ]
            )
        }
        resumePosition = position
    }

    // MARK: Snapshots

    mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
        pending.add(lastKey, of: table)
        tables[table.id]?.lastSnapshotKey = lastKey
    }

    mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await lease.write("marking a table as copied") { db, record in
            try db.run("UPDATE \(db.schema).source_tables SET snapshot_done = true WHERE id = $1", [.text(table.id)])
            try StreamChanges(noCheckpointBefore: lsn).write(record, db)
        }
        tables[table.id]?.isSnapshotDone = true
    }

    mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await lease.write("marking a stream as copied") { db, record in
            try db.run(
                "UPDATE \(db.schema).replication_streams SET snapshot_done = true WHERE id = $1",
                [.integer(record.id.rawValue)]
            )
            try StreamChanges(noCheckpointBefore: lsn).write(record, db)
        }
    }

    // MARK: Inside

    /// Writes records, and how far snapshots have come.
    ///
    /// - Returns: The last op id; `nil` when there are none.
    private static func write(
        _ batch: PendingChanges.Batch,
        _ record: StreamRecord,
        _ db: PostgresStatements
    ) throws -> OpID? {
        for (table, key) in batch.progress {
            try db.run(
                "UPDATE \(db.schema).source_tables SET snapshot_last_key = $1 WHERE id = $2",
                [.bytes(key.rawValue), .text(table)]
            )
        }
        guard !batch.records.isEmpty else { return nil }
        var store = RecordStore(try PostgresRecordTables(db, record, for: batch.records))
        for record in batch.records { try store.write(record) }
        return try store.finish()
    }

    /// What a transaction changes in the record of its stream.
    private struct StreamChanges {
        /// The position before which no checkpoint may be made; `nil` for the one that is stored.
        var noCheckpointBefore: LSN?
        /// The last operation that was stored, which the next commit publishes, also if nothing else is stored until then.
        var lastOp: OpID?

        /// Writes the changes.
        ///
        /// - Returns: The record as it is now.
        @discardableResult
        func write(_ record: StreamRecord, _ db: PostgresStatements) throws -> StreamRecord {
            guard noCheckpointBefore != nil || lastOp != nil else { return record }
            var record = record
            record.noCheckpointBefore = [record.noCheckpointBefore, noCheckpointBefore].compactMap(\.self).max()
            record.keepaliveOp = lastOp ?? record.keepaliveOp
            try db.run(
                "UPDATE \(db.schema).replication_streams SET no_checkpoint_before = $1, keepalive_op = $2 WHERE id = $3",
                [
                    .text(record.noCheckpointBefore?.rawValue), .integer(record.keepaliveOp?.rawValue),
                    .integer(record.id.rawValue),
                ]
            )
            return record
        }
    }
}

import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// The writer of one replication stream (docs/service.md "Rows and operations").
///
/// Rows are evaluated when they are saved, outside of any transaction; ``RecordStore`` compares the results with the
/// stored row states inside the transaction. A flush that is interrupted between two transactions leaves a prefix of
/// the changes, which is repeated when the source is read again.
struct SQLiteBucketWriter: BucketStorageWriter {
    private let storage: SQLiteBucketStorage
    private let streamID: ReplicationStreamID

    private(set) var resumePosition: SourcePosition?
    let reachedLSN: LSN?
    let storedLSN: LSN?
    private var tables: [String: SourceTable]
    /// Saved and not yet written.
    private var pending: PendingChanges
    /// Where the transaction ends that is being saved.
    private var transactionEnd: LSN?

    /// Creates a writer.
    init(
        storage: SQLiteBucketStorage,
        streamID: ReplicationStreamID,
        plan: SyncPlan,
        hashKey: [UInt8],
        resumePosition: SourcePosition?,
        reachedLSN: LSN?,
        storedLSN: LSN?,
        tables: [SourceTable]
    ) {
        self.storage = storage
        self.streamID = streamID
        pending = PendingChanges(plan: plan, bucketPrefix: streamID.bucketPrefix, hashKey: hashKey)
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
            try await storage.write { [streamID, table = resolved.table] db in try table.insert(of: streamID, db) }
            tables[resolved.table.id] = resolved.table
        }
        return resolved
    }

    mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await truncate(table, touch: touch)
        try await storage.write { db in
            try db.execute(sql: "DELETE FROM source_tables WHERE id = ?", arguments: [table.id])
        }
        tables[table.id] = nil
        pending.forget(table)
    }

    mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await flush()
        while true {
            let isFinished = try await storage.write { [streamID, transactionEnd] db in
                try Self.raiseNoCheckpointBefore(to: transactionEnd, of: streamID, db)
                var store = RecordStore(try SQLiteRecordTables(db, streamID: streamID))
                let isFinished = try store.removeRows(of: table.id)
                try Self.note(try store.finish(), of: streamID, db)
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
        try await pending.add(changes, of: table, mode: mode) { [storage, streamID, transactionEnd] batch in
            try await Self.store(batch, before: transactionEnd, of: streamID, in: storage)
        }
    }

    mutating func beginTransaction(endingAt lsn: LSN) {
        transactionEnd = max(transactionEnd ?? lsn, lsn)
    }

    mutating func flush() async throws {
        guard !pending.isEmpty else { return }
        try await Self.store(pending.take(), before: transactionEnd, of: streamID, in: storage)
    }

    /// Stores changes that no checkpoint shows yet.
    private static func store(
        _ batch: PendingChanges.Batch,
        before transactionEnd: LSN?,
        of streamID: ReplicationStreamID,
        in storage: SQLiteBucketStorage
    ) async throws {
        try await storage.write { db in
            try raiseNoCheckpointBefore(to: transactionEnd, of: streamID, db)
            try note(try write(batch, of: streamID, db), of: streamID, db)
        }
    }

    // MARK: Checkpoints

    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let batch = pending.take()
        let timestamp = storage.now().timeIntervalSince1970
        let end = transactionEnd.flatMap { $0 > lsn ? $0 : nil }
        let result = try await storage.write { [storage, streamID] db in
            try Self.raiseNoCheckpointBefore(to: end, of: streamID, db)
            try Self.note(try Self.write(batch, of: streamID, db), of: streamID, db)
            let decision = try CommitDecision(
                record: try StreamRecord.find(streamID, db),
                lsn: lsn,
                createsEmptyCheckpoints: createsEmptyCheckpoints
            )
            guard try decision.store(of: streamID, at: timestamp, db) else { return nil as CommitResult? }
            if case .created(let checkpoint) = decision.result {
                // Not after the call, which throws behind the commit when the task is cancelled while it waits for the WAL.
                db.afterNextTransaction { _ in storage.feed.publish(checkpoint) }
            }
            return decision.result
        }
        guard let result else { throw BucketStorageError.replaced(streamID) }
        if case .created = result { resumePosition?.lsn = lsn }
        transactionEnd = end
        return result
    }

    mutating func forbidCheckpoints(before lsn: LSN) async throws {
        try await storage.writeBriefly { [streamID] db in
            try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db)
        }
    }

    mutating func makeDurable() async throws -> DurablePosition? {
        let (record, history) = try await storage.read { [streamID] db in
            let record = try StreamRecord.find(streamID, db)
            return (record, try SourceHistory.find(record.historyID, db))
        }
        try await storage.waitForDisk()
        guard let history, let lsn = record.lastCheckpointLSN else { return nil }
        return DurablePosition(confirmedByDisk: SourcePosition(lsn, of: history))
    }

    mutating func setResumePosition(_ position: SourcePosition) async throws {
        try await storage.write { [streamID] db in
            try db.execute(
                sql: "UPDATE replication_streams SET snapshot_lsn = ?, history_id = ? WHERE id = ?",
                arguments: [position.lsn.rawValue, try position.history.number(db), streamID.rawValue]
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
        try await storage.write { [streamID] db in
            try db.execute(
                sql: "UPDATE source_tables SET snapshot_done = 1 WHERE id = ?",
                arguments: [table.id]
            )
            try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db)
        }
        tables[table.id]?.isSnapshotDone = true
    }

    mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await storage.write { [streamID] db in
            try db.execute(
                sql: "UPDATE replication_streams SET snapshot_done = 1 WHERE id = ?",
                arguments: [streamID.rawValue]
            )
            try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db)
        }
    }

    // MARK: Inside

    /// Records that a transaction has stored operations that no checkpoint covers yet.
    ///
    /// The record survives the process: the next commit publishes these operations, also when there are no others.
    private static func note(_ lastOp: OpID?, of streamID: ReplicationStreamID, _ db: Database) throws {
        guard let lastOp else { return }
        try db.execute(
            sql: "UPDATE replication_streams SET keepalive_op = ? WHERE id = ?",
            arguments: [lastOp.rawValue, streamID.rawValue]
        )
    }

    private static func write(
        _ batch: PendingChanges.Batch,
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws -> OpID? {
        var store = RecordStore(try SQLiteRecordTables(db, streamID: streamID))
        for record in batch.records { try store.write(record) }
        for (table, key) in batch.progress {
            try db.execute(
                sql: "UPDATE source_tables SET snapshot_last_key = ? WHERE id = ?",
                arguments: [Data(key.rawValue), table]
            )
        }
        return try store.finish()
    }

    private static func raiseNoCheckpointBefore(
        to lsn: LSN?,
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws {
        guard let lsn else { return }
        try db.execute(
            sql: """
                UPDATE replication_streams SET no_checkpoint_before = max(coalesce(no_checkpoint_before, ''), ?) WHERE id = ?
                """,
            arguments: [lsn.rawValue, streamID.rawValue]
        )
    }
}

import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncRules
import Synchronization

/// The writer of one replication stream (`service.md` 12).
///
/// Rows are evaluated when they are saved, outside of any transaction; ``RecordStore`` compares the results with the
/// stored row states inside the transaction. A flush that is interrupted between two transactions leaves a prefix of the
/// changes, which is repeated when the source is read again.
struct SQLiteBucketWriter: BucketStorageWriter {
    private let storage: SQLiteBucketStorage
    private let streamID: ReplicationStreamID
    private let plan: SyncPlan

    private(set) var resumeLSN: LSN?
    private var tables: [String: SourceTable]

    /// Saved and not yet written, in order.
    private var pending: [PendingRecord] = []
    private var pendingBytes = 0
    /// Positions of snapshots, by table id, that are true once ``pending`` is written.
    private var pendingProgress: [String: SnapshotKey] = [:]
    /// The highest op id that this writer has stored.
    private var persistedOp: OpID?

    /// The most records of one storage transaction.
    static let maximumRecords = 2000
    /// The estimated bytes of operations after which a storage transaction is written.
    static let maximumBytes = 5 * 1024 * 1024

    /// Creates a writer.
    init(
        storage: SQLiteBucketStorage,
        streamID: ReplicationStreamID,
        plan: SyncPlan,
        resumeLSN: LSN?,
        tables: [SourceTable]
    ) {
        self.storage = storage
        self.streamID = streamID
        self.plan = plan
        self.resumeLSN = resumeLSN
        self.tables = Dictionary(uniqueKeysWithValues: tables.map { ($0.id, $0) })
    }

    var sourceTables: [SourceTable] { Array(tables.values) }

    // MARK: Tables

    mutating func resolveTable(_ descriptor: SourceTableDescriptor) async throws -> ResolvedTable {
        let candidates = tables.values.filter { table in
            table.descriptor.relationID == descriptor.relationID || table.descriptor.name == descriptor.name
        }
        let compatible = candidates.filter { $0.descriptor == descriptor }
        if let kept = compatible.first(where: \.isSnapshotDone) ?? compatible.first {
            return ResolvedTable(table: kept, outdated: candidates.filter { $0.id != kept.id })
        }
        let table = SourceTable(
            id: storage.makeID(),
            descriptor: descriptor,
            isSnapshotDone: false,
            lastSnapshotKey: nil
        )
        try await storage.pool.write { [streamID] db in try table.insert(of: streamID, db) }
        tables[table.id] = table
        return ResolvedTable(table: table, outdated: Array(candidates))
    }

    mutating func drop(_ table: SourceTable) async throws {
        try await truncate(table)
        try await storage.pool.write { db in
            try db.execute(sql: "DELETE FROM source_tables WHERE id = ?", arguments: [table.id])
        }
        tables[table.id] = nil
        pendingProgress[table.id] = nil
    }

    mutating func truncate(_ table: SourceTable) async throws {
        try await flush()
        while true {
            let removal = try await storage.pool.write { [streamID] db in
                var store = try RecordStore(db, streamID: streamID)
                let isFinished = try store.removeRows(of: table.id, limit: Self.maximumRecords)
                return (outcome: try store.finish(), isFinished: isFinished)
            }
            note(removal.outcome)
            if removal.isFinished { return }
        }
    }

    // MARK: Changes

    mutating func save(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode
    ) async throws -> [RejectedRow] {
        var rejected: [RejectedRow] = []
        let evaluator = ChangeEvaluator(plan: plan, bucketPrefix: streamID.bucketPrefix, table: table, mode: mode)
        for change in changes {
            let record = evaluator.evaluate(change)
            if let rejection = record.rejection { rejected.append(rejection) }
            pendingBytes += record.size
            pending.append(record)
            if pending.count >= Self.maximumRecords || pendingBytes >= Self.maximumBytes {
                try await flush()
            }
        }
        return rejected
    }

    mutating func flush() async throws {
        guard !pending.isEmpty || !pendingProgress.isEmpty else { return }
        let (records, progress) = takePending()
        let outcome = try await storage.pool.write { [streamID] db in
            try Self.write(records, progress, of: streamID, db)
        }
        note(outcome)
    }

    // MARK: Checkpoints

    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let (records, progress) = takePending()
        let timestamp = storage.now().ISO8601Format()
        let (outcome, decision) = try await storage.pool.write { [streamID, persistedOp] db in
            let outcome = try Self.write(records, progress, of: streamID, db)
            let decision = try CommitDecision(
                record: try StreamRecord.find(streamID, db),
                lsn: lsn,
                persistedOp: [outcome?.lastOp, persistedOp].compactMap { $0 }.max(),
                createsEmptyCheckpoints: createsEmptyCheckpoints
            )
            try decision.store(at: timestamp, db)
            return (outcome, decision)
        }
        note(outcome)
        guard case .created(let checkpoint) = decision.result else { return decision.result }
        resumeLSN = lsn
        if decision.isServed { storage.feed.publish(checkpoint) }
        return decision.result
    }

    mutating func setResumeLSN(_ lsn: LSN) async throws {
        try await storage.pool.write { [streamID] db in
            try db.execute(
                sql: "UPDATE sync_rules SET snapshot_lsn = ? WHERE id = ?",
                arguments: [lsn.rawValue, streamID.rawValue]
            )
        }
        resumeLSN = max(resumeLSN ?? lsn, lsn)
    }

    // MARK: Snapshots

    mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
        pendingProgress[table.id] = lastKey
        tables[table.id]?.lastSnapshotKey = lastKey
    }

    mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await storage.pool.write { [streamID] db in
            try db.execute(
                sql: "UPDATE source_tables SET snapshot_done = 1, snapshot_last_key = NULL WHERE id = ?",
                arguments: [table.id]
            )
            try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db)
        }
        tables[table.id]?.isSnapshotDone = true
        tables[table.id]?.lastSnapshotKey = nil
    }

    mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await storage.pool.write { [streamID] db in
            try db.execute(sql: "UPDATE sync_rules SET snapshot_done = 1 WHERE id = ?", arguments: [streamID.rawValue])
            try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db)
        }
    }

    // MARK: Inside

    private mutating func takePending() -> ([PendingRecord], [String: SnapshotKey]) {
        defer {
            pending = []
            pendingBytes = 0
            pendingProgress = [:]
        }
        return (pending, pendingProgress)
    }

    /// Remembers what a transaction has stored. Called after its commit and before a checkpoint is published.
    private mutating func note(_ outcome: RecordStore.Outcome?) {
        guard let outcome else { return }
        persistedOp = outcome.lastOp
        storage.history.withLock {
            $0.record(through: outcome.lastOp, buckets: outcome.buckets, lookups: outcome.lookups, of: streamID)
        }
    }

    private static func write(
        _ records: [PendingRecord],
        _ progress: [String: SnapshotKey],
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws -> RecordStore.Outcome? {
        var store = try RecordStore(db, streamID: streamID)
        for record in records { try store.write(record) }
        for (table, key) in progress {
            try db.execute(
                sql: "UPDATE source_tables SET snapshot_last_key = ? WHERE id = ?",
                arguments: [Data(key.rawValue), table]
            )
        }
        return try store.finish()
    }

    private static func raiseNoCheckpointBefore(
        to lsn: LSN,
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws {
        try db.execute(
            sql: """
                UPDATE sync_rules SET no_checkpoint_before = max(coalesce(no_checkpoint_before, ''), ?) WHERE id = ?
                """,
            arguments: [lsn.rawValue, streamID.rawValue]
        )
    }
}

import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncServiceCore

/// The writer of one replication stream (docs/service.md "Rows and operations").
///
/// Rows are evaluated when they are saved, outside of any transaction; ``RecordStore`` compares the results with the
/// stored row states inside the transaction. A flush that is interrupted between two transactions leaves a prefix of
/// the changes, which is repeated when the source is read again.
struct SQLiteBucketWriter: BucketStorageWriter {
    private let storage: SQLiteBucketStorage
    private let streamID: ReplicationStreamID
    private let plan: SyncPlan

    private(set) var resumePosition: SourcePosition?
    let reachedLSN: LSN?
    private var tables: [String: SourceTable]
    /// What evaluates changes of a table, by table id; kept, so that columns are looked up once.
    private var evaluators: [SaveMode: [String: ChangeEvaluator]] = [:]

    /// Saved and not yet written, in order.
    private var pending: [PendingRecord] = []
    private var pendingBytes = 0
    /// Positions of snapshots, by table id, that are true once ``pending`` is written.
    private var pendingProgress: [String: SnapshotKey] = [:]
    /// Where the transaction ends that is being saved.
    private var transactionEnd: LSN?

    /// The most records of one storage transaction.
    static let maximumRecords = 2000
    /// The estimated bytes of operations after which a storage transaction is written.
    static let maximumBytes = 5 * 1024 * 1024

    /// Creates a writer.
    init(
        storage: SQLiteBucketStorage,
        streamID: ReplicationStreamID,
        plan: SyncPlan,
        resumePosition: SourcePosition?,
        reachedLSN: LSN?,
        tables: [SourceTable]
    ) {
        self.storage = storage
        self.streamID = streamID
        self.plan = plan
        self.resumePosition = resumePosition
        self.reachedLSN = reachedLSN
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
        try await storage.write { [streamID] db in try table.insert(of: streamID, db) }
        tables[table.id] = table
        return ResolvedTable(table: table, outdated: Array(candidates))
    }

    mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await truncate(table, touch: touch)
        try await storage.write { db in
            try db.execute(sql: "DELETE FROM source_tables WHERE id = ?", arguments: [table.id])
        }
        tables[table.id] = nil
        for mode in evaluators.keys { evaluators[mode]?[table.id] = nil }
        pendingProgress[table.id] = nil
    }

    mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await flush()
        while true {
            let isFinished = try await storage.write { [streamID, transactionEnd] db in
                try Self.raiseNoCheckpointBefore(to: transactionEnd, of: streamID, db)
                var store = try RecordStore(db, streamID: streamID)
                let isFinished = try store.removeRows(of: table.id, limit: Self.maximumRecords)
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
        var rejected: [RejectedRow] = []
        // Taken out while it is used, so that nothing of it is copied.
        var evaluator =
            evaluators[mode]?.removeValue(forKey: table.id)
            ?? ChangeEvaluator(plan: plan, bucketPrefix: streamID.bucketPrefix, table: table, mode: mode)
        defer { evaluators[mode, default: [:]][table.id] = evaluator }
        for change in changes {
            let record = evaluator.evaluate(change)
            rejected += record.rejections
            pendingBytes += record.size
            pending.append(record)
            if pending.count >= Self.maximumRecords || pendingBytes >= Self.maximumBytes {
                try await flush()
            }
        }
        return rejected
    }

    mutating func beginTransaction(endingAt lsn: LSN) {
        transactionEnd = max(transactionEnd ?? lsn, lsn)
    }

    mutating func flush() async throws {
        guard !pending.isEmpty || !pendingProgress.isEmpty else { return }
        let (records, progress) = takePending()
        try await storage.write { [streamID, transactionEnd] db in
            try Self.raiseNoCheckpointBefore(to: transactionEnd, of: streamID, db)
            try Self.note(try Self.write(records, progress, of: streamID, db), of: streamID, db)
        }
    }

    // MARK: Checkpoints

    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let (records, progress) = takePending()
        let timestamp = storage.now().ISO8601Format()
        let end = transactionEnd.flatMap { $0 > lsn ? $0 : nil }
        let result = try await storage.write { [storage, streamID] db in
            try Self.raiseNoCheckpointBefore(to: end, of: streamID, db)
            try Self.note(try Self.write(records, progress, of: streamID, db), of: streamID, db)
            let decision = try CommitDecision(
                record: try StreamRecord.find(streamID, db),
                lsn: lsn,
                createsEmptyCheckpoints: createsEmptyCheckpoints
            )
            try decision.store(at: timestamp, db)
            if case .created(let checkpoint) = decision.result {
                // Not after the call: a cancelled task does not come back, even if its transaction was committed.
                db.afterNextTransaction { _ in storage.feed.publish(checkpoint) }
            }
            return decision.result
        }
        if case .created = result { resumePosition?.lsn = lsn }
        transactionEnd = end
        return result
    }

    mutating func forbidCheckpoints(before lsn: LSN) async throws {
        try await storage.pool.write { [streamID] db in try Self.raiseNoCheckpointBefore(to: lsn, of: streamID, db) }
    }

    mutating func makeDurable() async throws -> DurablePosition? {
        let (record, history) = try await storage.pool.writeWithoutTransaction { [streamID] db in
            // In WAL mode, this setting decides whether a commit waits for the disk. The WAL is one file, written from its
            // beginning to its end: everything that was committed before is on the disk, too.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            defer { try? db.execute(sql: "PRAGMA synchronous = NORMAL") }
            var record = try StreamRecord.find(streamID, db)
            var history: SourceHistory?
            try db.inTransaction(.immediate) {
                record = try StreamRecord.find(streamID, db)
                history = try SourceHistory.find(record.historyID, db)
                try db.execute(sql: "UPDATE op_sequence SET synced = synced + 1 WHERE id = 1")
                return .commit
            }
            return (record, history)
        }
        guard let history, let lsn = record.lastCheckpointLSN else { return nil }
        return DurablePosition(confirmedByDisk: SourcePosition(lsn, of: history))
    }

    mutating func setResumePosition(_ position: SourcePosition) async throws {
        try await storage.write { [streamID] db in
            try db.execute(
                sql: "UPDATE sync_rules SET snapshot_lsn = ?, history_id = ? WHERE id = ?",
                arguments: [position.lsn.rawValue, try position.history.number(db), streamID.rawValue]
            )
        }
        resumePosition = position
    }

    // MARK: Snapshots

    mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
        pendingProgress[table.id] = lastKey
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

    /// Records that a transaction has stored operations that no checkpoint covers yet.
    ///
    /// The record survives the process: the next commit publishes these operations, also when there are no others.
    private static func note(_ lastOp: OpID?, of streamID: ReplicationStreamID, _ db: Database) throws {
        guard let lastOp else { return }
        try db.execute(
            sql: "UPDATE sync_rules SET keepalive_op = ? WHERE id = ?",
            arguments: [lastOp.rawValue, streamID.rawValue]
        )
    }

    private static func write(
        _ records: [PendingRecord],
        _ progress: [String: SnapshotKey],
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws -> OpID? {
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
        to lsn: LSN?,
        of streamID: ReplicationStreamID,
        _ db: Database
    ) throws {
        guard let lsn else { return }
        try db.execute(
            sql: """
                UPDATE sync_rules SET no_checkpoint_before = max(coalesce(no_checkpoint_before, ''), ?) WHERE id = ?
                """,
            arguments: [lsn.rawValue, streamID.rawValue]
        )
    }
}

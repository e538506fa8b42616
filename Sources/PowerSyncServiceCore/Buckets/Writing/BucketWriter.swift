/// The writer of one replication stream, over the transactions of a storage (docs/service.md "Rows and operations").
///
/// Rows are evaluated when they are saved, outside of any transaction. A flush that is interrupted between two transactions leaves a
/// prefix of the changes, which is repeated when the source is read again.
package struct BucketWriter<Session: WriterSession>: BucketStorageWriter {
    private let session: Session
    private let streamID: ReplicationStreamID
    /// Makes ids of source tables.
    private let makeID: @Sendable () -> String

    package private(set) var resumePosition: SourcePosition?
    package let reachedLSN: LSN?
    package let storedLSN: LSN?
    private var tables: [String: SourceTable]
    /// Saved and not yet written.
    private var pending: PendingChanges
    /// Where the transaction ends that is being saved.
    private var transactionEnd: LSN?
    /// Whether clients are known to be served from the stream; else its next commit may change that.
    private var isActive: Bool

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - session: Runs its transactions.
    ///   - beginning: What is stored of the stream.
    ///   - makeID: Makes random ids of source tables, different at every call.
    package init(_ session: Session, _ beginning: WriterBeginning, makeID: @escaping @Sendable () -> String) {
        let record = beginning.record
        self.session = session
        self.makeID = makeID
        streamID = record.id
        pending = PendingChanges(
            plan: beginning.plan,
            bucketPrefix: record.id.bucketPrefix,
            hashKey: record.hashKey
        )
        isActive = record.state == .active
        resumePosition = record.resumePosition(in: beginning.history)
        reachedLSN = record.notReached(beginning.newestWriteCheckpoint)
        storedLSN = record.noCheckpointBefore
        tables = Dictionary(uniqueKeysWithValues: beginning.tables.map { ($0.id, $0) })
    }

    package var sourceTables: [SourceTable] { Array(tables.values) }

    // MARK: Tables

    package mutating func resolveTable(_ descriptor: SourceTableDescriptor) async throws -> ResolvedTable {
        let resolved = ResolvedTable(descriptor, among: tables.values, makeID: makeID)
        if tables[resolved.table.id] == nil {
            try await session.write("storing a table", .recording) { try $0.insert(resolved.table) }
            tables[resolved.table.id] = resolved.table
        }
        return resolved
    }

    package mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await truncate(table, touch: touch)
        try await session.write("forgetting a table", .recording) { try $0.delete(table) }
        tables[table.id] = nil
        pending.forget(table)
    }

    package mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await flush()
        while true {
            let isFinished = try await session.write("removing the rows of a table", .recording) { [transactionEnd] in
                try $0.truncate(table, noCheckpointBefore: transactionEnd)
            }
            touch()
            if isFinished { return }
        }
    }

    // MARK: Changes

    package mutating func save(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode
    ) async throws -> [RejectedRow] {
        try await pending.add(changes, of: table, mode: mode) { [session, transactionEnd] batch in
            try await Self.store(batch, noCheckpointBefore: transactionEnd, in: session)
        }
    }

    package mutating func beginTransaction(endingAt lsn: LSN) {
        transactionEnd = max(transactionEnd ?? lsn, lsn)
    }

    package mutating func flush() async throws {
        guard !pending.isEmpty else { return }
        try await Self.store(pending.take(), noCheckpointBefore: transactionEnd, in: session)
    }

    private static func store(
        _ batch: PendingChanges.Batch,
        noCheckpointBefore lsn: LSN?,
        in session: Session
    ) async throws {
        try await session.write("storing changes", .storingChanges) {
            try $0.store(batch, noCheckpointBefore: lsn)
        }
    }

    // MARK: Checkpoints

    package mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let end = transactionEnd.flatMap { $0 > lsn ? $0 : nil }
        if pending.isEmpty, end == nil, !createsEmptyCheckpoints {
            // Most transactions of a source change nothing that is synced.
            let decision = try CommitDecision(
                record: try await session.record(),
                lsn: lsn,
                createsEmptyCheckpoints: false
            )
            transactionEnd = nil
            if case .created = decision.result {} else { return decision.result }
        }
        let batch = pending.take()
        let result = try await session.write("committing changes", .publishing(mayActivate: !isActive)) {
            try $0.store(batch, noCheckpointBefore: end)
            return try $0.publish(lsn, createsEmptyCheckpoints: createsEmptyCheckpoints)
        }
        guard let result else { throw BucketStorageError.replaced(streamID) }
        if case .created = result {
            isActive = true
            resumePosition?.lsn = lsn
        }
        transactionEnd = end
        return result
    }

    package mutating func forbidCheckpoints(before lsn: LSN) async throws {
        try await session.write("storing a position", .recording) { $0.stream.record.forbidCheckpoints(before: lsn) }
    }

    package mutating func makeDurable() async throws -> DurablePosition? {
        let record = try await session.record()
        let history = try await session.history(record.historyID)
        try await session.waitForDisk()
        guard let history, let lsn = record.lastCheckpointLSN else { return nil }
        return DurablePosition(confirmedByDisk: SourcePosition(lsn, of: history))
    }

    package mutating func setResumePosition(_ position: SourcePosition) async throws {
        try await session.write("storing a position", .recording) { try $0.setResumePosition(position) }
        resumePosition = position
    }

    // MARK: Snapshots

    package mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
        pending.add(lastKey, of: table)
        tables[table.id]?.lastSnapshotKey = lastKey
    }

    package mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await session.write("marking a table as copied", .recording) {
            try $0.setSnapshotDone(ofTable: table.id)
            $0.stream.record.forbidCheckpoints(before: lsn)
        }
        tables[table.id]?.isSnapshotDone = true
    }

    package mutating func markFilled(_ table: SourceTable?, forConfig number: Int64) async throws {
        try await flush()
        try await session.write("marking what was read for a sync config", .recording) {
            $0.setFilled(table, forConfig: number)
            if let table, !table.isSnapshotDone { try $0.setSnapshotDone(ofTable: table.id) }
        }
        if let table { tables[table.id]?.isSnapshotDone = true }
    }

    package mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await session.write("marking a stream as copied", .recording) {
            $0.setSnapshotDone(noCheckpointBefore: lsn)
        }
    }
}

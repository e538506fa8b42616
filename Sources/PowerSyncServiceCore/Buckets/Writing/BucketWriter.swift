import NIOConcurrencyHelpers
package import PowerSyncSyncConfig

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
    /// Whether a change was of a row that an earlier record of its table has, and that was not found there: a checkpoint would show it.
    private let hasUnmatched = NIOLockedValueBox(false)

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

    package mutating func resolveTable(
        _ descriptor: SourceTableDescriptor,
        hasItsColumns: Bool
    ) async throws -> ResolvedTable {
        let resolved = ResolvedTable(
            descriptor,
            among: tables.values,
            hasItsColumns: hasItsColumns,
            makeID: makeID
        )
        if tables[resolved.table.id] == nil {
            try await session.write("storing a table", .recording) { try $0.insert(resolved.table) }
            tables[resolved.table.id] = resolved.table
        }
        if tables[resolved.table.id]?.earlier != resolved.table.earlier {
            tables[resolved.table.id]?.earlier = resolved.table.earlier
            pending.forget(resolved.table)
        }
        return resolved
    }

    package mutating func takeRows(of earlier: SourceTable, into table: SourceTable) async throws -> SourceTable {
        try await change(table.id, "keeping the rows of a table") { table in
            table.isSnapshotDone = true
            table.isOutdated = true
            // What the copy has seen of the change stream.
            table.lastSnapshotKey = earlier.lastSnapshotKey
            table.earlier = SourceTable.Earlier(earlier)
        } ?? table
    }

    package mutating func setColumns(
        _ columns: [String: String],
        of table: SourceTable,
        outdates: Bool
    ) async throws -> SourceTable {
        try await change(table.id, "storing the columns of a table") { table in
            table.descriptor.columns = columns
            guard outdates else { return }
            table.isOutdated = true
            table.fill = nil
        } ?? table
    }

    /// Changes the record of a table, after all that was saved before.
    ///
    /// - Returns: The record; `nil` when there is none.
    @discardableResult
    private mutating func change(
        _ id: String,
        _ activity: String,
        _ body: (inout SourceTable) -> Void,
        with other: @escaping @Sendable (inout Session.Transaction) throws -> Void = { _ in }
    ) async throws -> SourceTable? {
        try await flush()
        guard var table = tables[id] else { return nil }
        body(&table)
        try await session.write(activity, .recording) { [table] in
            try $0.update(table)
            try other(&$0)
        }
        tables[id] = table
        return table
    }

    package mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await truncate(table, touch: touch)
        try await session.write("forgetting a table", .recording) { try $0.delete(table) }
        tables[table.id] = nil
        pending.forget(table)
        didTakeRows()
    }

    /// Allows checkpoints again, if no table has an earlier record any more.
    private func didTakeRows() {
        guard !tables.values.contains(where: { $0.earlier != nil }) else { return }
        hasUnmatched.withLockedValue { $0 = false }
    }

    package mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
        try await flush()
        if let earlier = tables[table.id]?.earlier.flatMap({ tables[$0.id] }) {
            try await removeRows(of: earlier, touch: touch)
        }
        try await removeRows(of: table, touch: touch)
    }

    private func removeRows(of table: SourceTable, touch: @Sendable () -> Void) async throws {
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
        try await pending.add(changes, of: asStored(table), mode: mode) {
            [session, transactionEnd, hasUnmatched] batch in
            try await Self.store(batch, noCheckpointBefore: transactionEnd, in: session, hasUnmatched)
        }
    }

    package func recordBuilder(of table: SourceTable, addingTo parts: SyncPlan?) -> RecordBuilder {
        pending.recordBuilder(of: asStored(table), mode: .stream, addingTo: parts)
    }

    package mutating func save(_ records: [PendingRecord]) async throws -> [RejectedRow] {
        try await pending.add(records) { [session, transactionEnd, hasUnmatched] batch in
            try await Self.store(batch, noCheckpointBefore: transactionEnd, in: session, hasUnmatched)
        }
    }

    /// The record of a table, with the earlier one from which it takes rows now.
    private func asStored(_ table: SourceTable) -> SourceTable {
        var table = table
        table.earlier = tables[table.id]?.earlier
        return table
    }

    package mutating func beginTransaction(endingAt lsn: LSN) {
        transactionEnd = max(transactionEnd ?? lsn, lsn)
    }

    package mutating func flush() async throws {
        guard !pending.isEmpty else { return }
        try await Self.store(pending.take(), noCheckpointBefore: transactionEnd, in: session, hasUnmatched)
    }

    private static func store(
        _ batch: PendingChanges.Batch,
        noCheckpointBefore lsn: LSN?,
        in session: Session,
        _ hasUnmatched: NIOLockedValueBox<Bool>
    ) async throws {
        let isUnmatched = try await session.write("storing changes", .storingChanges) {
            try $0.store(batch, noCheckpointBefore: lsn)
            return $0.stream.hasUnmatched
        }
        if isUnmatched { hasUnmatched.withLockedValue { $0 = true } }
    }

    // MARK: Checkpoints

    package mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
        let end = transactionEnd.flatMap { $0 > lsn ? $0 : nil }
        if hasUnmatched.withLockedValue(\.self) {
            try await flush()
            transactionEnd = end
            return .blocked
        }
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
        let (result, isUnmatched) = try await session.write(
            "committing changes",
            .publishing(mayActivate: !isActive)
        ) { transaction -> (CommitResult?, Bool) in
            try transaction.store(batch, noCheckpointBefore: end)
            guard !transaction.stream.hasUnmatched else { return (.blocked, true) }
            return (try transaction.publish(lsn, createsEmptyCheckpoints: createsEmptyCheckpoints), false)
        }
        if isUnmatched { hasUnmatched.withLockedValue { $0 = true } }
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
        recordProgress(of: table) { $0.lastSnapshotKey = lastKey }
    }

    private mutating func recordProgress(of table: SourceTable, _ body: (inout SourceTable) -> Void) {
        guard var table = tables[table.id] else { return }
        body(&table)
        tables[table.id] = table
        pending.addProgress(table)
    }

    package mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws {
        try await change(table.id, "marking a table as copied") {
            $0.isSnapshotDone = true
        } with: {
            $0.stream.record.forbidCheckpoints(before: lsn)
        }
    }

    package mutating func recordFill(_ fill: SourceTable.Fill, of table: SourceTable) {
        recordProgress(of: table) { $0.fill = fill }
    }

    package mutating func markFilled(_ table: SourceTable?, forConfig number: Int64) async throws {
        let activity = "marking what was read beside the change stream"
        guard let table else {
            try await flush()
            return try await session.write(activity, .recording) { $0.setFilled(nil, forConfig: number) }
        }
        try await flush()
        // All rows that there are have been met: the others are gone.
        if let earlier = tables[table.id]?.earlier.flatMap({ tables[$0.id] }) {
            try await drop(earlier, touch: {})
            // What evaluates its rows knows of the earlier record.
            pending.forget(table)
            tables[table.id]?.earlier = nil
            didTakeRows()
        }
        try await change(table.id, activity) { table in
            table.isSnapshotDone = true
            table.isOutdated = false
            table.fill = nil
        } with: {
            $0.setFilled(table, forConfig: number)
        }
    }

    package mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
        try await flush()
        try await session.write("marking a stream as copied", .recording) {
            $0.setSnapshotDone(noCheckpointBefore: lsn)
        }
    }
}

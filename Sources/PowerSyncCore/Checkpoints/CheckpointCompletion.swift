import GRDB
import PowerSyncProtocol

/// Completes a checkpoint: validate, gate, apply (docs/client-sync.md "Completing a checkpoint").
///
/// All of it happens in one transaction, the decision of the gate included: no local write can slip in between.
struct CheckpointCompletion {
    /// How it ended.
    enum Outcome {
        /// Buckets with wrong checksums were deleted; nothing else happened.
        case invalid([ChecksumMismatch])
        /// Valid, so that the next download continues from here; but local writes must not be overwritten. What a complete
        /// checkpoint has of priority 0 was published as a partial one of that priority.
        case heldBack
        /// Nothing is published yet: an index was created, see ``OplogAccess/useIndexes(_:)``. Validation and the decision of
        /// the gate are for the next transaction to make again.
        case indexing
        /// Published.
        case applied
    }

    /// The checkpoint, whose subscriptions get the time of the apply.
    private(set) var checkpoint: TrackedCheckpoint
    /// Which part of the checkpoint is complete.
    let completion: Completion
    /// Which part was published, if any.
    private(set) var published: Completion?
    /// Where rows of the types that have no table of ours go.
    let rawTables: [ClientRawTable]
    /// The time to record.
    let now: SyncInstant
    /// The rows that could only be published without values.
    private(set) var unreadableRows = UnreadableRows()
    /// The rows that constraints of the app have refused.
    private(set) var setAsideRows = SetAsideRows()

    /// Creates a completion.
    init(
        _ checkpoint: TrackedCheckpoint,
        _ completion: Completion,
        rawTables: [ClientRawTable],
        at now: SyncInstant
    ) {
        self.checkpoint = checkpoint
        self.completion = completion
        self.rawTables = rawTables
        self.now = now
    }

    /// Does everything that a completion line asks for.
    mutating func run(_ db: Database, file: inout KnownFile) throws -> Outcome {
        let involved = checkpoint.involved(in: completion)
        let mismatches = Self.mismatches(of: involved, file.buckets)
        guard mismatches.isEmpty else {
            try file.buckets.delete(db, mismatches.map { file.buckets.slot(of: $0.bucket) })
            return .invalid(mismatches)
        }

        // Validated data is a safe place to continue from, whether it can be published or not.
        for bucket in involved where file.buckets[bucket.slot].id != nil {
            file.buckets.move(bucket.slot, lastOp: checkpoint.lastOpID)
        }
        if completion == .complete, let writeCheckpoint = checkpoint.writeCheckpoint {
            try LocalWriteGate.setLastSeen(db, writeCheckpoint)
        }
        // Priority 0 does not wait for local writes.
        let isGateOpen = try completion != .partial(.highest) && LocalWriteGate.isOpen(db)
        guard let publishable = publishable(isGateOpen: isGateOpen, file.buckets) else { return .heldBack }

        if publishable == .complete {
            guard try file.access.useIndexes(db) else { return .indexing }
        }
        try publish(
            db,
            publishable,
            checkpoint.involved(in: publishable),
            isQueueEmpty: isGateOpen,
            file: &file
        )
        return publishable == completion ? .applied : .heldBack
    }

    /// What the local write gate lets through.
    ///
    /// The service sends no partial completion for the last priority that it has data of. Where only priority 0 has changed, the
    /// complete one is all that tells of it.
    private func publishable(isGateOpen: Bool, _ buckets: BucketTable) -> Completion? {
        if isGateOpen || completion == .partial(.highest) { return completion }
        guard completion == .complete else { return nil }
        let urgent = checkpoint.involved(in: .partial(.highest))
        guard !urgent.isEmpty else { return nil }
        let isPublished = urgent.allSatisfy { bucket in
            let row = buckets[bucket.slot]
            return row.id == nil || row.lastAppliedOp == row.lastOp
        }
        return urgent.count < checkpoint.buckets.count && isPublished ? nil : .partial(.highest)
    }

    private static func mismatches(
        of involved: [TrackedCheckpoint.Bucket],
        _ buckets: BucketTable
    ) -> [ChecksumMismatch] {
        involved.compactMap { bucket in
            let row = buckets[bucket.slot]
            guard row.checksum != bucket.checksum else { return nil }
            return ChecksumMismatch(
                bucket: buckets.name(at: bucket.slot),
                expected: bucket.checksum,
                opChecksum: row.opChecksum,
                addChecksum: row.addChecksum
            )
        }
    }

    private mutating func publish(
        _ db: Database,
        _ completion: Completion,
        _ involved: [TrackedCheckpoint.Bucket],
        isQueueEmpty: Bool,
        file: inout KnownFile
    ) throws {
        if file.buckets.mustFlushBeforeApply { try file.buckets.flush(db) }
        try file.schema.revalidate(db)
        var kept = try KeptRows.fetch(db, schema: &file.schema, isQueueEmpty: isQueueEmpty)
        let changed = try changedRows(db, completion, involved, file: &file)
        var filling: DirectTableFilling?
        if case .everything = changed {
            filling = try DirectTableFilling(db, rawTables, &file.schema)
            // What is found out meanwhile is forgotten when the transaction is rolled back.
            try file.schema.revalidate(db)
        }
        let outcome = try RowPublisher.publish(
            db,
            changed,
            except: &kept,
            rawTables: rawTables,
            schema: &file.schema
        )
        try filling?.end(db)
        (unreadableRows, setAsideRows) = (outcome.unreadable, outcome.setAside)

        if completion != .complete {
            for bucket in involved { file.buckets.markApplied(bucket.slot) }
        } else {
            // Rows of buckets that are not tracked were published, too: a later partial completion must not go back to them.
            file.buckets.markAllApplied()
            try file.buckets.noteAllApplied(db)
            try Self.forgetUpdatedRows(db)
            for bucket in involved {
                guard let count = bucket.count else { continue }
                file.buckets.resetCounters(at: bucket.slot, count: count)
            }
        }
        try kept.markRows(db)
        try setAsideRows.mark(db)
        try SyncState.record(db, completion.priority, at: now)
        let (synced, lost) = checkpoint.markSubscriptionsSynced(by: completion, at: now)
        try StreamSubscriptions.markSynced(db, synced, at: now)
        try StreamSubscriptions.markNotSynced(db, lost)
        if completion == .complete, let writeCheckpoint = checkpoint.writeCheckpoint {
            try LocalWriteGate.setLastApplied(db, writeCheckpoint)
        }
        published = completion
    }

    /// Empties `ps_updated_rows`, all of which was published.
    ///
    /// Usually there is nothing in it; a DELETE without condition would write its page nevertheless.
    private static func forgetUpdatedRows(_ db: Database) throws {
        guard try db.hasRows("ps_updated_rows") else { return }
        try db.cachedStatement(sql: "DELETE FROM ps_updated_rows").execute()
    }

    /// Whether operations that a partial completion does not cover may have taken the place of published ones, or whether
    /// published ones may have been removed.
    private func publishedOperationsMayBeGone(
        _ db: Database,
        _ covered: [TrackedCheckpoint.Bucket],
        _ buckets: BucketTable
    ) throws -> Bool {
        if try buckets.storedPublishedOp > .zero || db.hasRows("ps_updated_rows") { return true }
        let covered = Set(covered.map(\.slot))
        return buckets.rows.indices.contains { slot in
            let row = buckets[slot]
            return row.mayHaveUnappliedOps && row.lastAppliedOp > .zero && !covered.contains(slot)
        }
    }

    private func changedRows(
        _ db: Database,
        _ completion: Completion,
        _ involved: [TrackedCheckpoint.Bucket],
        file: inout KnownFile
    ) throws -> ChangedRows {
        let buckets = file.buckets
        switch completion {
        case .complete:
            return buckets.isUnapplied ? .everything : .complete(unapplied: buckets.unappliedBucketIDs)
        case .partial:
            let rows = involved.map { buckets[$0.slot] }
            let covered = rows.compactMap(\.id)
            let published = try publishedOperationsMayBeGone(db, involved, buckets) ? buckets.publishedOp : .zero
            if let operations = try file.access.changedRows(db, of: covered, besides: buckets.appliedBucketIDs) {
                return .partialAmong(
                    operations,
                    covered: covered,
                    published: published,
                    beforeReset: buckets.storedPublishedOp
                )
            }
            return .partial(
                covered: covered,
                unapplied: rows.compactMap { $0.mayHaveUnappliedOps ? $0.id : nil },
                published: published,
                beforeReset: buckets.storedPublishedOp
            )
        }
    }
}

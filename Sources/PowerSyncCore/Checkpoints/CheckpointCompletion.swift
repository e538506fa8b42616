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
        /// Valid, so that the next download continues from here; but local writes must not be overwritten.
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
    /// Where rows of the types that have no table of ours go.
    let rawTables: [ClientRawTable]
    /// The time to record.
    let now: SyncInstant
    /// The rows that could only be published without values.
    private(set) var unreadableRows = UnreadableRows()

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
    mutating func run(
        _ buckets: inout BucketTable,
        _ access: inout OplogAccess,
        _ schema: inout KnownSchema,
        _ db: Database
    ) throws -> Outcome {
        let involved = checkpoint.involved(in: completion)
        let mismatches = Self.mismatches(of: involved, buckets)
        guard mismatches.isEmpty else {
            try buckets.delete(mismatches.map { buckets.slot(of: $0.bucket) }, db)
            return .invalid(mismatches)
        }

        // Validated data is a safe place to continue from, whether it can be published or not.
        for bucket in involved where buckets[bucket.slot].id != nil {
            buckets.move(bucket.slot, lastOp: checkpoint.lastOpID)
        }
        if completion == .complete, let writeCheckpoint = checkpoint.writeCheckpoint {
            try LocalWriteGate.setLastSeen(writeCheckpoint, db)
        }
        // Priority 0 is published even over local writes.
        guard try completion == .partial(.highest) || LocalWriteGate.isOpen(db) else { return .heldBack }

        if completion == .complete {
            guard try access.useIndexes(db) else { return .indexing }
        }
        try apply(involved, &buckets, &access, &schema, db)
        return .applied
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

    private mutating func apply(
        _ involved: [TrackedCheckpoint.Bucket],
        _ buckets: inout BucketTable,
        _ access: inout OplogAccess,
        _ schema: inout KnownSchema,
        _ db: Database
    ) throws {
        if buckets.mustFlushBeforeApply { try buckets.flush(db) }
        try schema.revalidate(db)
        let parked = try ParkedRows.fetch(&schema, db)
        let changed = try changedRows(involved, buckets, &access, db)
        unreadableRows = try RowPublisher.publish(changed, except: parked, rawTables: rawTables, &schema, db)

        if completion != .complete {
            for bucket in involved { buckets.markApplied(bucket.slot) }
        } else {
            // Rows of buckets that are not tracked were published, too: a later partial completion must not go back to them.
            buckets.markAllApplied()
            buckets.noteAllApplied()
            try Self.forgetUpdatedRows(db)
            for bucket in involved {
                guard let count = bucket.count else { continue }
                buckets.resetCounters(at: bucket.slot, count: count)
            }
        }
        if !parked.isEmpty { try ParkedWrites.markRows(db) }
        try SyncState.record(completion.priority, at: now, db)
        let (synced, lost) = checkpoint.markSubscriptionsSynced(by: completion, at: now)
        try StreamSubscriptions.markSynced(synced, at: now, db)
        try StreamSubscriptions.markNotSynced(lost, db)
        if completion == .complete, let writeCheckpoint = checkpoint.writeCheckpoint {
            try LocalWriteGate.setLastApplied(writeCheckpoint, db)
        }
    }

    /// Empties `ps_updated_rows`, all of which was published.
    ///
    /// Usually there is nothing in it; a DELETE without condition would write its page nevertheless.
    private static func forgetUpdatedRows(_ db: Database) throws {
        let exists = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ps_updated_rows)")
        guard try Bool.fetchOne(exists) == true else { return }
        try db.cachedStatement(sql: "DELETE FROM ps_updated_rows").execute()
    }

    private func changedRows(
        _ involved: [TrackedCheckpoint.Bucket],
        _ buckets: BucketTable,
        _ access: inout OplogAccess,
        _ db: Database
    ) throws -> ChangedRows {
        switch completion {
        case .complete:
            return buckets.isUnapplied ? .everything : .complete(unapplied: buckets.unappliedBucketIDs)
        case .partial:
            let rows = involved.map { buckets[$0.slot] }
            let covered = rows.compactMap(\.id)
            if let operations = try access.changedRows(of: covered, besides: buckets.appliedBucketIDs, db) {
                return .partialAmong(operations, covered: covered)
            }
            return .partial(covered: covered, unapplied: rows.compactMap { $0.mayHaveUnappliedOps ? $0.id : nil })
        }
    }
}

import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The steps of a ``StreamCompaction``.
///
/// Operations are moved and cleared bucket by bucket: the tail is sealed, then segments with superseded `PUT`s are written again.
struct SQLiteCompaction {
    /// The stream that is compacted, and up to where.
    let stream: StreamCompaction
    /// How tails are sealed.
    let sealing: SealingLimits

    private typealias Step = StreamCompaction.Step
    private var streamID: Int64 { stream.streamID.rawValue }

    /// Records, with the first change, that earlier checkpoints may have become unreadable.
    func passCheckpoint(_ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE replication_streams SET compacted_op = ?1 WHERE id = ?2 AND compacted_op < ?1"
        )
        .execute(arguments: [stream.through, streamID])
    }

    // MARK: Parameter entries

    /// Deletes some of the superseded entries, the oldest first.
    ///
    /// In this order a tombstone goes after what it hides.
    func removeEntries(_ db: Database) throws -> StreamCompaction.Step {
        let found = try Int64.fetchAll(
            db,
            sql: """
                SELECT op_id FROM superseded_entries WHERE stream = ? AND by_op <= ? ORDER BY by_op, op_id LIMIT ?
                """,
            arguments: [streamID, stream.through, StreamCompaction.batch]
        )
        var step = Step()
        step.deleted = found.count
        step.isLast = found.count < StreamCompaction.batch
        guard !found.isEmpty else { return step }
        try passCheckpoint(db)
        for opID in found {
            try deleteEntry(opID, db)
            try db.cachedStatement(sql: "DELETE FROM superseded_entries WHERE op_id = ?").execute(arguments: [opID])
        }
        return step
    }

    private func deleteEntry(_ opID: Int64, _ db: Database) throws {
        // What a tombstone hides is older and of the same row; an entry that was written twice is not noted anywhere else.
        try db.cachedStatement(
            sql: """
                DELETE FROM parameter_entries WHERE op_id IN (
                    SELECT old.op_id FROM parameter_entries AS e JOIN parameter_entries AS old ON old.lookup = e.lookup
                        AND old.source_table = e.source_table AND old.source_key = e.source_key AND old.op_id <= e.op_id
                    WHERE e.op_id = ?)
                """
        ).execute(arguments: [opID])
    }

    // MARK: Buckets

    /// Compacts some buckets, or a part of one, after the ``StreamCompaction/Step/bucket`` of the step before.
    func compactBuckets(after bucket: Int64, _ db: Database) throws -> StreamCompaction.Step {
        var step = Step(after: bucket)
        var work = 0
        while work < StreamCompaction.batch {
            guard let next = try nextBucket(after: step.bucket, db) else {
                step.isLast = true
                return step
            }
            let compaction = try BucketCompaction(db, bucket: next, of: self)
            if let done = try compaction.step() {
                work += done.operations
                step.moved += done.moved
                step.cleared += done.cleared
            } else {
                step.bucket = next
            }
        }
        return step
    }

    /// The next bucket with superseded operations, or with a beginning that may be cleared.
    private func nextBucket(after bucket: Int64, _ db: Database) throws -> Int64? {
        let superseded = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT o.bucket FROM superseded_operations AS o CROSS JOIN buckets AS b ON b.id = o.bucket
                    WHERE o.bucket > ? AND o.by_op <= ? AND b.stream = ? ORDER BY o.bucket LIMIT 1
                    """
            ),
            arguments: [bucket, stream.through, streamID]
        )
        let uncleared = try Int64.fetchOne(
            db.cachedStatement(
                sql: "SELECT id FROM buckets WHERE stream = ? AND is_uncleared = 1 AND id > ? ORDER BY id LIMIT 1"
            ),
            arguments: [streamID, bucket]
        )
        return [superseded, uncleared].compactMap(\.self).min()
    }
}

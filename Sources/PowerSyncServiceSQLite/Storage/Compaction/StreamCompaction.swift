import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The steps of compacting one stream, each for a transaction of its own.
///
/// Writers note which operation supersedes which (`superseded_operations`), so nothing has to be searched:
///
/// 1. Superseded parameter entries are deleted, then the tombstones that superseded them.
/// 2. Bucket by bucket, the tail is sealed. Then the segments with superseded `PUT`s are written again: such a `PUT`
///    becomes a `MOVE`, op id and checksum stay, the row goes, `target_op` names the operation that superseded it.
/// 3. What precedes the first `PUT` of a bucket leaves no row behind. It becomes one `CLEAR` with the op id of the last
///    of these operations, the sum of their checksums, and the largest `target_op`.
///
/// Checksums of buckets do not change. A checkpoint before a `CLEAR`, or before a deleted entry, cannot be read any more:
/// `cleared_op` and `compacted_op` are raised in the same transaction.
struct StreamCompaction {
    /// The stream that is compacted.
    let streamID: ReplicationStreamID
    /// Operations above this op id are left alone: no checkpoint contains them yet.
    let through: Int64
    /// How tails are sealed.
    let sealing: SealingLimits

    /// The most entries of one transaction, and the operations after which it ends.
    static let batch = 1000

    /// What a transaction has done.
    struct Step {
        /// The last bucket that needs nothing any more.
        var bucket: Int64 = 0
        var moved = 0
        var cleared = 0
        var deleted = 0
        /// Whether nothing is left.
        var isLast = false
    }

    /// Begins to compact the stream that is replicated and served.
    ///
    /// - Returns: `nil` when there is none.
    init?(_ db: Database, sealing: SealingLimits) throws {
        guard let record = try StreamRecord.served(db), record.state == .active, let checkpoint = record.lastCheckpoint
        else { return nil }
        streamID = record.id
        through = checkpoint.rawValue
        self.sealing = sealing
    }

    /// Records, with the first change, that earlier checkpoints may have become unreadable.
    func passCheckpoint(_ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE replication_streams SET compacted_op = ?1 WHERE id = ?2 AND compacted_op < ?1"
        )
        .execute(arguments: [through, streamID.rawValue])
    }

    // MARK: Parameter entries

    /// Deletes some of the superseded entries, the oldest first.
    ///
    /// In this order a tombstone goes after what it hides.
    func removeEntries(_ db: Database) throws -> Step {
        let found = try Int64.fetchAll(
            db,
            sql: """
                SELECT op_id FROM superseded_entries WHERE stream = ? AND by_op <= ? ORDER BY by_op, op_id LIMIT ?
                """,
            arguments: [streamID.rawValue, through, Self.batch]
        )
        guard !found.isEmpty else { return Step(isLast: true) }
        try passCheckpoint(db)
        for opID in found {
            try deleteEntry(opID, db)
            try db.cachedStatement(sql: "DELETE FROM superseded_entries WHERE op_id = ?").execute(arguments: [opID])
        }
        return Step(deleted: found.count, isLast: found.count < Self.batch)
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

    /// Compacts some buckets, or a part of one, after the ``Step/bucket`` of the step before (0 for the first one).
    func compactBuckets(after bucket: Int64, _ db: Database) throws -> Step {
        var step = Step(bucket: bucket)
        var work = 0
        while work < Self.batch {
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
            arguments: [bucket, through, streamID.rawValue]
        )
        let uncleared = try Int64.fetchOne(
            db.cachedStatement(
                sql: "SELECT id FROM buckets WHERE stream = ? AND is_uncleared = 1 AND id > ? ORDER BY id LIMIT 1"
            ),
            arguments: [streamID.rawValue, bucket]
        )
        return [superseded, uncleared].compactMap(\.self).min()
    }
}

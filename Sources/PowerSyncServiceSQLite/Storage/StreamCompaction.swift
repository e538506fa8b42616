import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The steps of compacting one stream, each for a transaction of its own.
///
/// Writers note which operation supersedes which (`superseded`), so nothing has to be searched:
///
/// 1. A superseded `PUT` becomes a `MOVE`: op id and checksum stay, the row goes, `target_op` names the operation that
///    superseded it. Superseded parameter entries are deleted, then the tombstones that superseded them.
/// 2. What precedes the first `PUT` of a bucket leaves no row behind. It becomes one `CLEAR` with the op id of the last
///    of these operations, the sum of their checksums, and the largest `target_op`.
///
/// Checksums of buckets do not change. A checkpoint before a `CLEAR`, or before a deleted entry, cannot be read any more:
/// `cleared_op` and `compacted_op` are raised in the same transaction.
struct StreamCompaction {
    /// The stream that is compacted.
    private let streamID: ReplicationStreamID
    /// Operations above this op id are left alone: no checkpoint contains them yet.
    private let through: Int64

    /// The most operations of one transaction.
    static let batch = 1000

    /// What a transaction has done.
    struct Step {
        var moved = 0
        var deleted = 0
        /// Whether nothing superseded is left.
        var isLast = false
    }

    /// Begins to compact the stream that is replicated and served.
    ///
    /// - Returns: `nil` when there is none.
    init?(_ db: Database) throws {
        guard let record = try StreamRecord.served(db), record.state == .active,
            record.storageVersion != LegacyTables.storageVersion, let checkpoint = record.lastCheckpoint
        else { return nil }
        streamID = record.id
        through = checkpoint.rawValue
    }

    /// Records, with the first change, that earlier checkpoints may have become unreadable.
    private func passCheckpoint(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE sync_rules SET compacted_op = ?1 WHERE id = ?2 AND compacted_op < ?1")
            .execute(arguments: [through, streamID.rawValue])
    }

    // MARK: Superseded operations

    /// Takes away some of what was superseded, the oldest first.
    ///
    /// In this order a tombstone goes after what it hides.
    func removeSuperseded(_ db: Database) throws -> Step {
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT op_id, by_op FROM superseded WHERE group_id = ? AND by_op <= ? ORDER BY by_op, op_id LIMIT ?
                """,
            arguments: [streamID.rawValue, through, Self.batch]
        )
        guard !found.isEmpty else { return Step(isLast: true) }
        try passCheckpoint(db)
        var step = Step()
        for row in found {
            let opID: Int64 = row["op_id"]
            if try move(opID, by: row["by_op"], db) {
                step.moved += 1
            } else {
                try deleteEntry(opID, db)
                step.deleted += 1
            }
            try db.cachedStatement(sql: "DELETE FROM superseded WHERE op_id = ?").execute(arguments: [opID])
        }
        step.isLast = found.count < Self.batch
        return step
    }

    /// - Returns: Whether the op id is that of an operation.
    private func move(_ opID: Int64, by later: Int64, _ db: Database) throws -> Bool {
        let bucket = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT bucket FROM operations WHERE op_id = ?"),
            arguments: [opID]
        )
        guard let bucket else { return false }
        try db.cachedStatement(
            sql: """
                UPDATE operations SET op = 'M', target_op = ?, source_table = NULL, source_key = NULL,
                    table_name = NULL, row_id = NULL, data = NULL
                WHERE op_id = ?
                """
        ).execute(arguments: [later, opID])
        try db.cachedStatement(sql: "UPDATE buckets SET is_uncleared = 1 WHERE id = ? AND is_uncleared = 0")
            .execute(arguments: [bucket])
        return true
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

    // MARK: Clearing

    /// Clears the beginning of a bucket, or a part of it.
    ///
    /// - Returns: How many operations are gone; `nil` when no bucket is left to look at.
    func clear(_ db: Database) throws -> Int? {
        let bucket = try Int64.fetchOne(
            db,
            sql: "SELECT id FROM buckets WHERE group_id = ? AND is_uncleared = 1 LIMIT 1",
            arguments: [streamID.rawValue]
        )
        guard let bucket else { return nil }
        let beginning = try self.beginning(of: bucket, db)
        // A single operation is not worth a `CLEAR`, which makes clients drop what they have.
        if beginning.others >= 2 || beginning.others == 1 && beginning.hasClear {
            try replace(beginning, of: bucket, db)
            if !beginning.isComplete { return beginning.count - 1 }
            try finish(bucket, db)
            return beginning.count - 1
        }
        try finish(bucket, db)
        return 0
    }

    /// Operations at the beginning of a bucket that leave no row behind.
    private struct Beginning {
        var count = 0
        var hasClear = false
        var checksum = Checksum.zero
        var targetOp: Int64?
        var lastOp: Int64 = 0
        /// Whether a `PUT`, or the end of what may be compacted, follows.
        var isComplete = true

        /// The operations that are not a `CLEAR`.
        var others: Int { count - (hasClear ? 1 : 0) }
    }

    private func beginning(of bucket: Int64, _ db: Database) throws -> Beginning {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT op_id, op, checksum, target_op FROM operations
                WHERE bucket = ? AND op_id <= ? ORDER BY op_id LIMIT ?
                """,
            interruption: .cancellation
        )
        defer { statement.reset() }
        statement.bind(bucket, at: 1)
        statement.bind(through, at: 2)
        statement.bind(Int64(Self.batch) + 1, at: 3)
        var beginning = Beginning()
        while try statement.step() {
            let kind = statement.text(at: 1)?.first
            guard kind != UInt8(ascii: "P") else { break }
            guard beginning.count < Self.batch else {
                beginning.isComplete = false
                break
            }
            beginning.count += 1
            beginning.lastOp = statement.integer(at: 0)
            if kind == UInt8(ascii: "C") { beginning.hasClear = true }
            beginning.checksum += Checksum(truncating: statement.integer(at: 2))
            if !statement.isNull(at: 3) {
                beginning.targetOp = max(beginning.targetOp ?? 0, statement.integer(at: 3))
            }
        }
        return beginning
    }

    private func replace(_ beginning: Beginning, of bucket: Int64, _ db: Database) throws {
        try passCheckpoint(db)
        try db.cachedStatement(sql: "DELETE FROM operations WHERE bucket = ? AND op_id <= ?")
            .execute(arguments: [bucket, beginning.lastOp])
        try db.cachedStatement(
            sql: "INSERT INTO operations (op_id, bucket, op, checksum, target_op) VALUES (?, ?, 'C', ?, ?)"
        ).execute(arguments: [beginning.lastOp, bucket, Int64(beginning.checksum.rawValue), beginning.targetOp])
        try db.cachedStatement(sql: "UPDATE buckets SET count = count - ?, cleared_op = ? WHERE id = ?")
            .execute(arguments: [beginning.count - 1, beginning.lastOp, bucket])
    }

    private func finish(_ bucket: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE buckets SET is_uncleared = 0 WHERE id = ?").execute(arguments: [bucket])
    }
}

import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// When tails become segments.
package struct SealingLimits: Sendable {
    /// Tails of fewer operations stay: a segment would not be much better to read, and there would be many of them.
    package var minimum = 32
    /// A segment is closed when its operations have this many bytes.
    package var segmentBytes = 64 * 1024
    /// As many of the newest op ids are not swept, so that what they have changed can be told.
    package var unswept = 50_000

    /// The limits of the service.
    package init() {}
}

/// Moves the tails of buckets into segments, in steps for a transaction each (docs/service.md "Bucket storage").
///
/// A step copies operations into segments and raises `sealed_op` of their bucket, in one transaction. What is left of them in
/// `operations` is dead from then on; a sweep deletes it later, in the order in which it was written, so that whole pages
/// become free. Both say where they are in the tables, so they may stop at any point.
struct BucketSealing {
    /// What a step has done.
    struct Step {
        /// The last bucket that was looked at.
        var bucket: Int64 = 0
        var sealed = 0
        /// Whether no other bucket follows.
        var isLast = false
    }

    /// The most operations that a transaction seals.
    ///
    /// A commit waits for a step, and one step follows each commit while a source is copied: with fewer operations,
    /// sealing would fall behind, and the file would be half as large again as it has to be.
    static let batch = 4000
    /// The most operations that a transaction of a sweep looks at; see ``batch``.
    static let sweepBatch = 16_000
    /// No segment is begun after this many bytes of a transaction.
    static let batchBytes = 1024 * 1024

    private let db: Database
    private let limits: SealingLimits

    /// Begins a step.
    init(_ db: Database, limits: SealingLimits) {
        self.db = db
        self.limits = limits
    }

    // MARK: Sealing

    /// Seals tails of several buckets, from where the step before has stopped (0 for the first one).
    func seal(after bucket: Int64) throws -> Step {
        var step = Step(bucket: bucket)
        var bytes = 0
        while Self.batch - step.sealed >= limits.minimum, bytes < Self.batchBytes {
            guard let tail = try nextTail(after: step.bucket) else {
                step.isLast = true
                return step
            }
            let limit = Self.batch - step.sealed
            let sealed = try seal(tail, minimum: limits.minimum, limit: limit, bytes: &bytes)
            step.sealed += sealed
            // Of a long tail there may be more.
            if sealed == 0 || tail.count - sealed < limits.minimum { step.bucket = tail.bucket }
        }
        return step
    }

    /// Seals the tail of one bucket up to an op id, or a part of that, however short it is.
    ///
    /// - Returns: How many operations; 0 when there are none.
    func seal(_ bucket: Int64, through opID: Int64) throws -> Int {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT sealed_op, tail FROM buckets WHERE id = ?"),
            arguments: [bucket]
        )
        guard let row else { return 0 }
        var bytes = 0
        let tail = Tail(bucket: bucket, sealedOp: row["sealed_op"], count: row["tail"], through: opID)
        return try seal(tail, minimum: 1, limit: Self.batch, bytes: &bytes)
    }

    /// What of a bucket is not sealed.
    private struct Tail {
        var bucket: Int64
        /// The op id after which it begins.
        var sealedOp: Int64
        var count: Int
        /// The op id up to which it may be sealed.
        var through: Int64
    }

    /// The next bucket with a long tail.
    ///
    /// Of a stream with a checkpoint, what is not published stays, because sums at the checkpoint are made without it.
    private func nextTail(after bucket: Int64) throws -> Tail? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT b.id, b.sealed_op, b.tail, coalesce(s.last_checkpoint, b.last_op) AS through
                    FROM buckets AS b CROSS JOIN replication_streams AS s ON s.id = b.stream
                    WHERE b.tail >= \(limits.minimum) AND b.id > ? ORDER BY b.id LIMIT 1
                    """
            ),
            arguments: [bucket]
        )
        return row.map { Tail(bucket: $0["id"], sealedOp: $0["sealed_op"], count: $0["tail"], through: $0["through"]) }
    }

    private func seal(_ tail: Tail, minimum: Int, limit: Int, bytes: inout Int) throws -> Int {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT \(StoredOperation.columns) FROM operations AS o
                LEFT JOIN names AS s ON s.id = o.source_table LEFT JOIN names AS t ON t.id = o.table_name
                WHERE o.bucket = ? AND o.op_id > ? AND o.op_id <= ? ORDER BY o.op_id LIMIT ?
                """
        )
        defer { statement.reset() }
        statement.bind(tail.bucket, at: 1)
        statement.bind(tail.sealedOp, at: 2)
        statement.bind(tail.through, at: 3)
        statement.bind(Int64(limit), at: 4)
        let segments = try BucketSegments(db, bucket: tail.bucket)
        var segment = SegmentEncoder()
        var sealed = 0
        var lastOp = tail.sealedOp
        func close() throws {
            bytes += segment.byteCount
            sealed += segment.count
            lastOp = segment.lastOp
            try segments.store(segment)
            segment = SegmentEncoder()
        }
        while bytes < Self.batchBytes, try statement.step() {
            try segment.append(StoredOperation(statement))
            if segment.byteCount >= limits.segmentBytes { try close() }
        }
        if segment.count >= minimum { try close() }
        guard sealed > 0 else { return 0 }
        try db.cachedStatement(sql: "UPDATE buckets SET sealed_op = ?, tail = tail - ? WHERE id = ?")
            .execute(arguments: [lastOp, sealed, tail.bucket])
        return sealed
    }

    // MARK: Sweeping

    /// Deletes operations that are in segments, from where the step before has stopped (0 for the first one).
    ///
    /// - Returns: Where this one has stopped; `nil` at the end of what may be swept.
    func sweep(after opID: Int64) throws -> Int64? {
        let limit = try OpID.last(db).rawValue - Int64(limits.unswept)
        let last = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT max(op_id) FROM (
                        SELECT op_id FROM operations NOT INDEXED WHERE op_id > ? AND op_id <= ? ORDER BY op_id LIMIT ?)
                    """
            ),
            arguments: [opID, limit, Self.sweepBatch]
        )
        guard let last else { return nil }
        try db.cachedStatement(
            sql: """
                DELETE FROM operations WHERE op_id IN (
                    SELECT o.op_id FROM operations AS o NOT INDEXED CROSS JOIN buckets AS b ON b.id = o.bucket
                    WHERE o.op_id > ? AND o.op_id <= ? AND o.op_id <= b.sealed_op)
                """
        ).execute(arguments: [opID, last])
        if db.changesCount > 0 {
            try db.cachedStatement(sql: "UPDATE op_sequence SET swept_op = max(swept_op, ?) WHERE id = 1")
                .execute(arguments: [last])
        }
        return last
    }
}

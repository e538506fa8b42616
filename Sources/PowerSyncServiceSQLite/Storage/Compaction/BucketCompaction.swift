import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The steps of compacting one bucket; see ``SQLiteCompaction``.
struct BucketCompaction {
    /// What a step has done.
    struct Step {
        /// The operations that were read and written.
        var operations = 0
        var moved = 0
        var cleared = 0
    }

    /// The bytes of segments that one step reads.
    static let batchBytes = 256 * 1024

    private let db: Database
    private let bucket: Int64
    private let compaction: SQLiteCompaction
    private let segments: BucketSegments

    /// Begins a step.
    init(_ db: Database, bucket: Int64, of compaction: SQLiteCompaction) throws {
        self.db = db
        self.bucket = bucket
        self.compaction = compaction
        segments = try BucketSegments(db, bucket: bucket)
    }

    /// Does the next thing that there is to do.
    ///
    /// - Returns: `nil` when there is none.
    func step() throws -> Step? {
        let sealed = try BucketSealing(db, limits: compaction.sealing).seal(bucket, through: compaction.stream.through)
        if sealed > 0 { return Step(operations: sealed) }
        let first = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT op_id FROM superseded_operations WHERE bucket = ? AND by_op <= ? ORDER BY op_id LIMIT 1
                    """
            ),
            arguments: [bucket, compaction.stream.through]
        )
        if let first { return try move(from: first) }
        let isUncleared = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT is_uncleared FROM buckets WHERE id = ?"),
            arguments: [bucket]
        )
        return isUncleared ?? false ? try clear() : nil
    }

    // MARK: Moving

    /// Makes a `MOVE` of every superseded operation in some segments.
    private func move(from first: Int64) throws -> Step {
        var step = Step(operations: 1)
        let found = try segments.segments(from: first, byteLimit: Self.batchBytes)
        let last = found.last?.lastOp ?? first
        let superseded = try superseded(from: first, through: last)
        var written: [SegmentEncoder] = [SegmentEncoder()]
        for segment in found {
            try segments.read(segment) { operation in
                var operation = operation
                if operation.kind == .put, let later = superseded[operation.opID] {
                    operation = StoredOperation(
                        opID: operation.opID,
                        kind: .move,
                        checksum: operation.checksum,
                        targetOp: later
                    )
                    step.moved += 1
                }
                step.operations += 1
                if written[written.count - 1].byteCount >= compaction.sealing.segmentBytes {
                    written.append(SegmentEncoder())
                }
                try written[written.count - 1].append(operation)
                return true
            }
        }
        try replace(found, by: written)
        try compaction.passCheckpoint(db)
        try db.cachedStatement(
            sql: "DELETE FROM superseded_operations WHERE bucket = ? AND op_id >= ? AND op_id <= ? AND by_op <= ?"
        ).execute(arguments: [bucket, first, last, compaction.stream.through])
        try db.cachedStatement(sql: "UPDATE buckets SET is_uncleared = 1 WHERE id = ? AND is_uncleared = 0")
            .execute(arguments: [bucket])
        return step
    }

    private func superseded(from first: Int64, through last: Int64) throws -> [Int64: Int64] {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT op_id, by_op FROM superseded_operations
                WHERE bucket = ? AND op_id >= ? AND op_id <= ? AND by_op <= ?
                """
        )
        defer { statement.reset() }
        statement.bind(bucket, at: 1)
        statement.bind(first, at: 2)
        statement.bind(last, at: 3)
        statement.bind(compaction.stream.through, at: 4)
        var superseded: [Int64: Int64] = [:]
        while try statement.step() { superseded[statement.integer(at: 0)] = statement.integer(at: 1) }
        return superseded
    }

    private func replace(_ old: [BucketSegments.Segment], by new: [SegmentEncoder]) throws {
        for segment in old { try segments.delete(segment) }
        for segment in new { try segments.store(segment) }
    }

    // MARK: Clearing

    /// Clears the beginning of the bucket, or a part of it.
    private func clear() throws -> Step {
        var beginning = BucketBeginning()
        /// The operations that follow in the last segment that was read.
        var rest: SegmentEncoder?
        var read: [BucketSegments.Segment] = []
        let found = try segments.segments(from: 0, byteLimit: Self.batchBytes)
        for segment in found where rest == nil {
            read.append(segment)
            try segments.read(segment) { operation in
                if rest == nil {
                    if operation.kind != .put, operation.opID <= compaction.stream.through {
                        beginning.add(operation)
                        return true
                    }
                    var following = SegmentEncoder()
                    if beginning.isWorthClearing { try following.append(beginning.clear) }
                    rest = following
                }
                try rest?.append(operation)
                return true
            }
        }
        var step = Step(operations: beginning.count + (rest?.count ?? 0) + 1)
        if beginning.isWorthClearing {
            if rest == nil {
                var cleared = SegmentEncoder()
                try cleared.append(beginning.clear)
                try replace(read, by: [cleared])
            } else if let rest {
                try replace(read, by: [rest])
            }
            try compaction.passCheckpoint(db)
            step.cleared = beginning.count - 1
            try db.cachedStatement(sql: "UPDATE buckets SET count = count - ?, cleared_op = ? WHERE id = ?")
                .execute(arguments: [step.cleared, beginning.lastOp, bucket])
        }
        // Without a row after the beginning, more of it may follow in the next segments.
        let last = try segments.segments(from: (read.last?.lastOp ?? 0) + 1, byteLimit: 1)
        if rest != nil || !beginning.isWorthClearing || last.isEmpty {
            try db.cachedStatement(sql: "UPDATE buckets SET is_uncleared = 0 WHERE id = ?")
                .execute(arguments: [bucket])
        }
        return step
    }
}

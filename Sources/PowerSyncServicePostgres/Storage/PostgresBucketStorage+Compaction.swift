import PowerSyncProtocol
package import PowerSyncServiceCore

/// Compaction (docs/service.md "Compaction").
extension PostgresBucketStorage {
    /// Does nothing: the operations of a bucket are beside each other in an index as they are.
    package func seal() async throws {}

    package func compact() async throws -> CompactionResult {
        var result = CompactionResult()
        result.deletedRequests = try await deleteOldRequests()
        let served = try await read("looking for something to compact") { db in try StreamRecord.served(db) }
        guard let served, served.state == .active, let checkpoint = served.lastCheckpoint else { return result }
        let compaction = PostgresCompaction(streamID: served.id, through: checkpoint.rawValue)
        result.deletedEntries = try await run { try compaction.removeEntries($0) }.deleted
        result.movedOperations = try await run { try compaction.moveOperations($0) }.moved
        var bucket: Int64 = 0
        while true {
            let step = try await compactionStep { [bucket] db in try compaction.clear(after: bucket, db) }
            guard let step else { return result }
            result.clearedOperations += step.cleared
            bucket = step.bucket
            if step.isLast { return result }
        }
    }

    /// Repeats a step until nothing is left.
    private func run(
        _ step: @escaping @Sendable (PostgresStatements) throws -> PostgresCompaction.Step
    ) async throws -> PostgresCompaction.Step {
        var total = PostgresCompaction.Step()
        while let done = try await compactionStep(step) {
            total.moved += done.moved
            total.deleted += done.deleted
            if done.isLast { break }
        }
        return total
    }

    /// Does a step in a transaction of its own.
    ///
    /// - Returns: `nil` when somebody else compacts.
    private func compactionStep(
        _ step: @escaping @Sendable (PostgresStatements) throws -> PostgresCompaction.Step
    ) async throws -> PostgresCompaction.Step? {
        try Task.checkCancellation()
        return try await write("compacting") { [schema] db in
            let isFree = try db.first("SELECT pg_try_advisory_xact_lock(\(schema.lockKey("compaction")))") {
                try $0.boolean(0)
            }
            return isFree == true ? try step(db) : nil
        }
    }
}

/// The steps of compacting one stream, each for a transaction of its own.
///
/// Each begins by locking the record of the stream, as the writer does: they take turns.
///
/// 1. Superseded parameter entries are deleted, then the tombstones that superseded them.
/// 2. A superseded `PUT` becomes a `MOVE`: op id and checksum stay, the row goes, `target_op` names what superseded it.
/// 3. What precedes the first `PUT` of a bucket leaves no row behind: it becomes one `CLEAR` (``BucketBeginning``).
///
/// Checksums of buckets do not change. A checkpoint before a `CLEAR`, or before a deleted entry, cannot be read any more:
/// `cleared_op` and `compacted_op` are raised in the same transaction.
struct PostgresCompaction: Sendable {
    /// What a transaction has done.
    struct Step: Sendable {
        /// The last bucket that needs nothing any more.
        var bucket: Int64 = 0
        var moved = 0
        var cleared = 0
        var deleted = 0
        /// Whether nothing is left.
        var isLast = false
    }

    /// The stream that is compacted.
    let streamID: ReplicationStreamID
    /// Operations above this op id are left alone: no checkpoint contains them yet.
    let through: Int64

    /// The most operations or entries of one transaction.
    private static let batch = 1000
    private var stream: PostgresArgument { .integer(streamID.rawValue) }

    /// Waits for the writer, and checks that the stream is still served.
    private func begin(_ db: PostgresStatements) throws -> Bool {
        try StreamRecord.find(streamID, locked: true, db).state == .active
    }

    /// Records, with the first change, that earlier checkpoints may have become unreadable.
    private func passCheckpoint(_ db: PostgresStatements) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET compacted_op = $1 WHERE id = $2 AND compacted_op < $1",
            [.integer(through), stream]
        )
    }

    /// Deletes entries of a stream, and the older ones of the same rows and lookups.
    ///
    /// What a tombstone hides is older and of the same row; an entry that was written twice is not noted anywhere else.
    static func removal(in schema: String) -> String {
        """
        DELETE FROM \(schema).parameter_entries WHERE stream = $1 AND op_id IN (
            SELECT old.op_id FROM \(schema).parameter_entries AS e JOIN \(schema).parameter_entries AS old ON old.stream = e.stream
                AND old.lookup = e.lookup AND old.source_table = e.source_table
                AND old.source_key = e.source_key AND old.op_id <= e.op_id
            WHERE e.stream = $1 AND e.op_id = ANY ($2))
        """
    }

    /// Deletes some of the superseded entries, the oldest first.
    func removeEntries(_ db: PostgresStatements) throws -> Step {
        guard try begin(db) else { return Step(isLast: true) }
        let found = try db.rows(
            "SELECT op_id FROM \(db.schema).superseded_entries WHERE stream = $1 AND by_op <= $2 ORDER BY by_op, op_id LIMIT $3",
            [stream, .integer(through), .integer(Int64(Self.batch))]
        ) { try $0.integer(0) }
        guard !found.isEmpty else { return Step(isLast: true) }
        try passCheckpoint(db)
        try db.run(Self.removal(in: db.schema), [stream, .integers(found)])
        try db.run(
            "DELETE FROM \(db.schema).superseded_entries WHERE stream = $1 AND op_id = ANY ($2)",
            [stream, .integers(found)]
        )
        return Step(deleted: found.count, isLast: found.count < Self.batch)
    }

    /// Makes a `MOVE` of some of the superseded operations.
    func moveOperations(_ db: PostgresStatements) throws -> Step {
        guard try begin(db) else { return Step(isLast: true) }
        var (buckets, opIDs, laterIDs) = (PostgresArray(.integer), PostgresArray(.integer), PostgresArray(.integer))
        try db.run(
            """
            SELECT bucket, op_id, by_op FROM \(db.schema).superseded_operations WHERE stream = $1 AND by_op <= $2
            ORDER BY bucket, op_id LIMIT $3
            """,
            [stream, .integer(through), .integer(Int64(Self.batch))]
        ) { row in
            buckets.append(try row.integer(0))
            opIDs.append(try row.integer(1))
            laterIDs.append(try row.integer(2))
        }
        guard buckets.count > 0 else { return Step(isLast: true) }
        try passCheckpoint(db)
        let moved = try db.run(
            """
            UPDATE \(db.schema).operations AS o
            SET op = 'M', target_op = s.by_op, source_table = NULL, source_key = NULL, table_name = NULL, row_id = NULL,
                data = NULL
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS s (bucket, op_id, by_op)
            WHERE o.stream = $1 AND o.bucket = s.bucket AND o.op_id = s.op_id AND o.op = 'P'
            """,
            [stream, .array(buckets), .array(opIDs), .array(laterIDs)]
        )
        try db.run(
            """
            DELETE FROM \(db.schema).superseded_operations AS d USING unnest($2::bigint[], $3::bigint[]) AS s (bucket, op_id)
            WHERE d.stream = $1 AND d.bucket = s.bucket AND d.op_id = s.op_id
            """,
            [stream, .array(buckets), .array(opIDs)]
        )
        try db.run(
            "UPDATE \(db.schema).buckets SET is_uncleared = true WHERE stream = $1 AND id = ANY ($2) AND NOT is_uncleared",
            [stream, .array(buckets)]
        )
        return Step(moved: moved, isLast: buckets.count < Self.batch)
    }

    /// Clears the beginning of some buckets, or a part of one, after the ``Step/bucket`` of the step before (0 for the first).
    func clear(after bucket: Int64, _ db: PostgresStatements) throws -> Step {
        var step = Step(bucket: bucket)
        guard try begin(db) else { return Step(isLast: true) }
        var work = 0
        while work < Self.batch {
            let next = try db.first(
                "SELECT id FROM \(db.schema).buckets WHERE stream = $1 AND is_uncleared AND id > $2 ORDER BY id LIMIT 1",
                [stream, .integer(step.bucket)]
            ) { try $0.integer(0) }
            guard let next else {
                step.isLast = true
                return step
            }
            let (operations, cleared, isDone) = try clear(next, db)
            work += operations
            step.cleared += cleared
            if isDone { step.bucket = next }
        }
        return step
    }

    private func clear(
        _ bucket: Int64,
        _ db: PostgresStatements
    ) throws -> (operations: Int, cleared: Int, isDone: Bool) {
        let arguments = [stream, .integer(bucket)]
        var beginning = BucketBeginning()
        var hasRow = false
        let found = try db.run(
            """
            SELECT op_id, op, checksum, target_op FROM \(db.schema).operations WHERE stream = $1 AND bucket = $2 AND op_id <= $3
            ORDER BY op_id LIMIT $4
            """,
            arguments + [.integer(through), .integer(Int64(Self.batch))]
        ) { row in
            let operation = StoredOperation(
                opID: try row.integer(0),
                kind: PostgresBucketReading.kind(try row.integer(1)),
                checksum: Checksum(truncating: try row.integer(2)),
                targetOp: try row.optionalInteger(3)
            )
            hasRow = hasRow || operation.kind == .put
            if !hasRow { beginning.add(operation) }
        }
        var cleared = 0
        if beginning.isWorthClearing {
            let clear = beginning.clear
            try passCheckpoint(db)
            try db.run(
                "DELETE FROM \(db.schema).operations WHERE stream = $1 AND bucket = $2 AND op_id < $3",
                arguments + [.integer(clear.opID)]
            )
            try db.run(
                """
                UPDATE \(db.schema).operations
                SET op = 'C', checksum = $4, target_op = $5, source_table = NULL, source_key = NULL, table_name = NULL,
                    row_id = NULL, data = NULL
                WHERE stream = $1 AND bucket = $2 AND op_id = $3
                """,
                arguments + [
                    .integer(clear.opID), .integer(Int64(clear.checksum.rawValue)), .integer(clear.targetOp),
                ]
            )
            cleared = beginning.count - 1
            try db.run(
                """
                UPDATE \(db.schema).buckets SET count = count - $3, cleared_op = $4,
                    published_op = greatest(published_op, $4),
                    published_checksum = CASE WHEN published_op < $4 THEN $5 ELSE published_checksum END,
                    published_count = CASE WHEN published_op < $4 THEN 1 ELSE published_count - $3 END
                WHERE stream = $1 AND id = $2
                """,
                arguments + [
                    .integer(Int64(cleared)), .integer(clear.opID), .integer(Int64(clear.checksum.rawValue)),
                ]
            )
        }
        // Without a row after the beginning, more of it may follow.
        let isDone = hasRow || !beginning.isWorthClearing || found < Self.batch
        if isDone {
            try db.run("UPDATE \(db.schema).buckets SET is_uncleared = false WHERE stream = $1 AND id = $2", arguments)
        }
        return (found + 1, cleared, isDone)
    }
}

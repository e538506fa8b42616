import PowerSyncProtocol
package import PowerSyncServiceCore

/// Compaction (docs/service.md "Compaction").
extension PostgresBucketStorage {
    /// Does nothing: the operations of a bucket are beside each other in an index as they are.
    package func seal() async throws {}

    package func compact() async throws -> CompactionResult {
        var result = CompactionResult()
        result.deletedRequests = try await deleteOldRequests()
        guard let stream = try await readStreams("looking for something to compact", { try StreamCompaction($0) })
        else { return result }
        result.deletedLeftovers = try await removeLeftovers(of: stream)
        let compaction = PostgresCompaction(schema: schema, stream: stream)
        try await result.count { _ in try await compactionStep { try compaction.removeEntries($0) } }
        try await result.count { _ in try await compactionStep { try compaction.moveOperations($0) } }
        try await result.count { bucket in try await compactionStep { try compaction.clear(after: bucket, $0) } }
        return result
    }

    /// Does a step in a transaction of its own.
    ///
    /// - Returns: `nil` when another process compacts.
    func compactionStep<Step: Sendable>(
        _ step: @escaping @Sendable (PostgresStatements) throws -> Step?
    ) async throws -> Step? {
        try await write("compacting") { [schema] db in
            let isFree = try db.first("SELECT pg_try_advisory_xact_lock(\(schema.lockKey("compaction")))") {
                try $0.boolean(0)
            }
            return isFree == true ? try step(db) : nil
        }
    }
}

/// The steps of a ``StreamCompaction``.
///
/// Each begins by locking the record of the stream, as the writer does: they take turns.
struct PostgresCompaction: Sendable {
    let schema: PostgresStorageSchema
    /// The stream that is compacted, and up to where.
    let stream: StreamCompaction

    private typealias Step = StreamCompaction.Step
    private static let batch = Int64(StreamCompaction.batch)
    private var streamID: PostgresArgument { .integer(stream.streamID.rawValue) }
    private var through: PostgresArgument { .integer(stream.through) }

    /// Waits for the writer, and checks that the stream is still served.
    private func begin(_ db: PostgresStatements) throws -> Bool {
        try PostgresStreamTables(db, in: schema).record(of: stream.streamID, locked: true).record.state == .active
    }

    /// Records, with the first change, that earlier checkpoints may have become unreadable.
    private func passCheckpoint(_ db: PostgresStatements) throws {
        try db.run(
            "UPDATE \(db.schema).replication_streams SET compacted_op = $1 WHERE id = $2 AND compacted_op < $1",
            [through, streamID]
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
    func removeEntries(_ db: PostgresStatements) throws -> StreamCompaction.Step {
        var step = Step()
        step.isLast = true
        guard try begin(db) else { return step }
        let found = try db.rows(
            "SELECT op_id FROM \(db.schema).superseded_entries WHERE stream = $1 AND by_op <= $2 ORDER BY by_op, op_id LIMIT $3",
            [streamID, through, .integer(Self.batch)]
        ) { try $0.integer(0) }
        guard !found.isEmpty else { return step }
        try passCheckpoint(db)
        try db.run(Self.removal(in: db.schema), [streamID, .integers(found)])
        try db.run(
            "DELETE FROM \(db.schema).superseded_entries WHERE stream = $1 AND op_id = ANY ($2)",
            [streamID, .integers(found)]
        )
        step.deleted = found.count
        step.isLast = found.count < Self.batch
        return step
    }

    /// Makes a `MOVE` of some of the superseded operations.
    func moveOperations(_ db: PostgresStatements) throws -> StreamCompaction.Step {
        var step = Step()
        step.isLast = true
        guard try begin(db) else { return step }
        var (buckets, opIDs, laterIDs) = (PostgresArray(.integer), PostgresArray(.integer), PostgresArray(.integer))
        try db.run(
            """
            SELECT bucket, op_id, by_op FROM \(db.schema).superseded_operations WHERE stream = $1 AND by_op <= $2
            ORDER BY bucket, op_id LIMIT $3
            """,
            [streamID, through, .integer(Self.batch)]
        ) { row in
            buckets.append(try row.integer(0))
            opIDs.append(try row.integer(1))
            laterIDs.append(try row.integer(2))
        }
        guard buckets.count > 0 else { return step }
        try passCheckpoint(db)
        step.moved = try db.run(
            """
            UPDATE \(db.schema).operations AS o
            SET op = 'M', target_op = s.by_op, source_table = NULL, source_key = NULL, table_name = NULL, row_id = NULL,
                data = NULL
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS s (bucket, op_id, by_op)
            WHERE o.stream = $1 AND o.bucket = s.bucket AND o.op_id = s.op_id AND o.op = 'P'
            """,
            [streamID, .array(buckets), .array(opIDs), .array(laterIDs)]
        )
        try db.run(
            """
            DELETE FROM \(db.schema).superseded_operations AS d USING unnest($2::bigint[], $3::bigint[]) AS s (bucket, op_id)
            WHERE d.stream = $1 AND d.bucket = s.bucket AND d.op_id = s.op_id
            """,
            [streamID, .array(buckets), .array(opIDs)]
        )
        try db.run(
            "UPDATE \(db.schema).buckets SET is_uncleared = true WHERE stream = $1 AND id = ANY ($2) AND NOT is_uncleared",
            [streamID, .array(buckets)]
        )
        step.isLast = buckets.count < Self.batch
        return step
    }

    /// Clears the beginning of some buckets, or a part of one, after the ``StreamCompaction/Step/bucket`` of the step
    /// before.
    func clear(after bucket: Int64, _ db: PostgresStatements) throws -> StreamCompaction.Step {
        var step = Step(after: bucket)
        guard try begin(db) else {
            step.isLast = true
            return step
        }
        var work = 0
        while work < Self.batch {
            let next = try db.first(
                "SELECT id FROM \(db.schema).buckets WHERE stream = $1 AND is_uncleared AND id > $2 ORDER BY id LIMIT 1",
                [streamID, .integer(step.bucket)]
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
        let arguments = [streamID, .integer(bucket)]
        var beginning = BucketBeginning()
        var hasRow = false
        let found = try db.run(
            """
            SELECT op_id, op, checksum, target_op FROM \(db.schema).operations WHERE stream = $1 AND bucket = $2 AND op_id <= $3
            ORDER BY op_id LIMIT $4
            """,
            arguments + [through, .integer(Self.batch)]
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

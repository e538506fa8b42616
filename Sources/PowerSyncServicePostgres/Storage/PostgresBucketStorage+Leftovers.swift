import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The steps that remove ``StreamLeftovers``.
extension PostgresBucketStorage {
    /// Removes what parts have left that a stream does not have any more.
    ///
    /// - Parameter stream: What is compacted.
    /// - Returns: How many buckets and lookups were deleted.
    /// - Throws: An error of the database, or `CancellationError`.
    func removeLeftovers(of stream: StreamCompaction) async throws -> Int {
        // Before the plan: what is made later may be of a part that is not in it.
        let (buckets, lookups, tables) = try await look("looking for what removed parts have left") { db in
            func named(_ table: String) throws -> [(id: Int64, name: String)] {
                try db.rows(
                    "SELECT id, name FROM \(db.schema).\(table) WHERE stream = $1",
                    [.integer(stream.streamID.rawValue)]
                ) {
                    (id: try $0.integer(0), name: try $0.text(1))
                }
            }
            let tables = try db.rows(
                """
                SELECT n.id FROM \(db.schema).source_tables AS s
                    JOIN \(db.schema).names AS n ON n.stream = s.stream AND n.digest = sha256(convert_to(s.id, 'UTF8'))
                WHERE s.stream = $1 ORDER BY n.id
                """,
                [.integer(stream.streamID.rawValue)]
            ) { try $0.integer(0) }
            return (try named("buckets"), try named("lookups"), tables)
        }
        guard let replicated = try await streams().first(where: { $0.id == stream.streamID }) else { return 0 }
        let leftovers = StreamLeftovers(
            buckets: buckets,
            lookups: lookups,
            plan: replicated.writtenPlan,
            bucketPrefix: replicated.bucketPrefix
        )
        guard !leftovers.isEmpty else { return 0 }
        let removal = PostgresLeftovers(schema: schema, stream: stream, leftovers: leftovers)
        for table in tables {
            var key: String? = "00000000-0000-0000-0000-000000000000"
            while let after = key {
                try Task.checkCancellation()
                let next = try await compactionStep { try removal.forget(inRowsOf: table, after: after, $0) }
                // Another process compacts.
                guard let next else { return 0 }
                key = next
            }
        }
        var deleted = 0
        for (ids, statements, lastOp) in removal.contents {
            for id in ids.sorted() {
                guard let isDeleted = try await delete(id, statements, lastOp, removal) else { return deleted }
                if isDeleted { deleted += 1 }
            }
        }
        return deleted
    }

    /// - Returns: Whether it was deleted; `nil` when another process compacts.
    private func delete(
        _ id: Int64,
        _ statements: [String],
        _ lastOp: String,
        _ removal: PostgresLeftovers
    ) async throws -> Bool? {
        for statement in statements {
            var isFinished = false
            while !isFinished {
                try Task.checkCancellation()
                let done = try await compactionStep { try removal.delete(id, statement, lastOp, $0) }
                guard let done else { return nil }
                guard let changes = done else { return false }
                isFinished = changes < StreamLeftovers.deleted
            }
        }
        return true
    }
}

/// What the steps do.
struct PostgresLeftovers: Sendable {
    let schema: PostgresStorageSchema
    let stream: StreamCompaction
    let leftovers: StreamLeftovers

    private var streamID: PostgresArgument { .integer(stream.streamID.rawValue) }

    /// Waits for the writer, and checks that the stream is still served.
    private func begin(_ db: PostgresStatements) throws -> Bool {
        try PostgresStreamTables(db, in: schema).record(of: stream.streamID, locked: true).record.state == .active
    }

    /// Forgets in some states of rows what they gave to leftovers.
    ///
    /// - Returns: The key after which there may be more rows.
    func forget(inRowsOf table: Int64, after key: String, _ db: PostgresStatements) throws -> String?? {
        guard try begin(db) else { return .some(nil) }
        let found: [(key: ReplicaID, state: StoredRow)] = try db.rows(
            """
            SELECT source_key, state FROM \(db.schema).row_states
            WHERE stream = $1 AND source_table = $2 AND source_key > $3::text::uuid ORDER BY source_key LIMIT $4
            """,
            [streamID, .integer(table), .text(key), .integer(Int64(StreamLeftovers.rows))]
        ) { row in
            unsafe (key: ReplicaID(bytes: row.memory(0)), state: try PostgresRecordTables.decode(row.memory(1)))
        }
        let entries = found.flatMap { $0.state.entries.map(\.opID) }
        var removed: Set<Int64> = []
        if !entries.isEmpty, !leftovers.lookups.isEmpty {
            removed = Set(
                try db.rows(
                    """
                    SELECT op_id FROM \(db.schema).parameter_entries
                    WHERE stream = $1 AND op_id = ANY ($2) AND lookup = ANY ($3)
                    """,
                    [streamID, .integers(entries), .integers(leftovers.lookups)]
                ) { try $0.integer(0) }
            )
        }
        var changed = RowStateColumns()
        for (key, state) in found {
            var state = state
            if leftovers.remove(from: &state, entries: removed) { changed.append(state, table: table, key: key) }
        }
        try db.run(together: [changed.statement(streamID, areNew: false, in: db.schema)].compactMap(\.self))
        return .some(found.count == StreamLeftovers.rows ? found.last?.key.description : nil)
    }

    /// Deletes a part of a bucket or a lookup, unless something was written to it since compaction began.
    ///
    /// - Returns: How many rows were deleted; `nil` when something was written.
    func delete(_ id: Int64, _ statement: String, _ lastOp: String, _ db: PostgresStatements) throws -> Int?? {
        guard try begin(db) else { return .some(nil) }
        let last = try db.first(lastOp, [streamID, .integer(id)]) { try $0.optionalInteger(0) } ?? nil
        guard last ?? 0 <= stream.through else { return .some(nil) }
        return .some(try db.run(statement, [streamID, .integer(id)]))
    }

    /// The numbers of buckets and of lookups, the statements that delete what they have and then themselves, and the one that reads
    /// the last op id of one.
    var contents: [(ids: Set<Int64>, statements: [String], lastOp: String)] {
        let schema = PostgresText.identifier(schema.name)
        func some(_ table: String) -> String {
            """
            DELETE FROM \(schema).\(table) WHERE stream = $1 AND bucket = $2 AND op_id IN (
                SELECT op_id FROM \(schema).\(table) WHERE stream = $1 AND bucket = $2 ORDER BY op_id LIMIT \(StreamLeftovers.deleted))
            """
        }
        let entries = """
            SELECT op_id FROM \(schema).parameter_entries WHERE stream = $1 AND lookup = $2 LIMIT \(StreamLeftovers.deleted)
            """
        return [
            (
                leftovers.buckets,
                [
                    some("operations"), some("superseded_operations"),
                    "DELETE FROM \(schema).buckets WHERE stream = $1 AND id = $2",
                ], "SELECT last_op FROM \(schema).buckets WHERE stream = $1 AND id = $2"
            ),
            (
                leftovers.lookups,
                [
                    """
                    WITH gone AS (\(entries)), noted AS (
                        DELETE FROM \(schema).superseded_entries WHERE stream = $1 AND op_id IN (SELECT op_id FROM gone))
                    DELETE FROM \(schema).parameter_entries WHERE stream = $1 AND op_id IN (SELECT op_id FROM gone)
                    """,
                    "DELETE FROM \(schema).lookups WHERE stream = $1 AND id = $2",
                ], "SELECT max(op_id) FROM \(schema).parameter_entries WHERE stream = $1 AND lookup = $2"
            ),
        ]
    }
}

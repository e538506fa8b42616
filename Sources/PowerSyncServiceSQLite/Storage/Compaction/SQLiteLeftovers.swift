import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The steps that remove ``StreamLeftovers``.
extension SQLiteBucketStorage {
    /// Removes what parts have left that a stream does not have any more.
    ///
    /// - Returns: How many buckets and lookups were deleted.
    func removeLeftovers(of stream: StreamCompaction) async throws -> Int {
        // Before the plan: what is made later may be of a part that is not in it.
        let (buckets, lookups, tables) = try await read { db in
            func named(_ table: String) throws -> [(id: Int64, name: String)] {
                try Row.fetchAll(
                    db,
                    sql: "SELECT id, name FROM \(table) WHERE stream = ?",
                    arguments: [stream.streamID.rawValue]
                ).map { ($0[0], $0[1]) }
            }
            let tables = try Int64.fetchAll(
                db,
                sql:
                    "SELECT n.id FROM source_tables AS s JOIN names AS n ON n.name = s.id WHERE s.stream = ? ORDER BY n.id",
                arguments: [stream.streamID.rawValue]
            )
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
        for table in tables {
            var key: [UInt8]? = []
            while let after = key {
                try Task.checkCancellation()
                key = try await write { db in try Self.forget(leftovers, inRowsOf: table, after: after, db) }
            }
        }
        var deleted = 0
        for bucket in leftovers.buckets.sorted() {
            deleted += try await delete(bucket, Self.contentsOfBucket, lastOp: Self.lastOpOfBucket, stream)
        }
        for lookup in leftovers.lookups.sorted() {
            deleted += try await delete(lookup, Self.contentsOfLookup, lastOp: Self.lastOpOfLookup, stream)
        }
        return deleted
    }

    /// Forgets in some states of rows what they gave to leftovers.
    ///
    /// - Returns: The key after which there may be more rows.
    private static func forget(
        _ leftovers: StreamLeftovers,
        inRowsOf table: Int64,
        after key: [UInt8],
        _ db: Database
    ) throws -> [UInt8]? {
        let states = try RowStateTable(db)
        let found = try states.rows(after: key, of: table, limit: StreamLeftovers.rows)
        let lookup = try db.cachedStatement(sql: "SELECT lookup FROM parameter_entries WHERE op_id = ?")
        let removed = Set(
            try found.flatMap { $0.state.entries.map(\.opID) }.filter { entry in
                try Int64.fetchOne(lookup, arguments: [entry]).map { leftovers.lookups.contains($0) } ?? false
            }
        )
        for (key, state) in found {
            var state = state
            if leftovers.remove(from: &state, entries: removed) { try states.store(state.encoded, of: key, of: table) }
        }
        guard found.count == StreamLeftovers.rows, let last = found.last else { return nil }
        var bytes: [UInt8] = []
        unsafe last.key.withBytes { unsafe bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Deletes a bucket or a lookup with its contents, unless something was written to it since compaction began.
    ///
    /// - Parameters:
    ///   - id: Its number.
    ///   - statements: Those that delete its contents, some rows at a time, and the last one that deletes it; for `:id`.
    ///   - lastOp: Reads the last op id of it.
    ///   - stream: What is compacted.
    /// - Returns: How many were deleted.
    /// - Throws: An error of the database, or `CancellationError`.
    private func delete(
        _ id: Int64,
        _ statements: [String],
        lastOp: String,
        _ stream: StreamCompaction
    ) async throws -> Int {
        for statement in statements {
            var isFinished = false
            while !isFinished {
                try Task.checkCancellation()
                let changes = try await write { db -> Int? in
                    let last = try Int64.fetchOne(db, sql: lastOp, arguments: ["id": id]) ?? 0
                    guard last <= stream.through else { return nil }
                    try db.execute(sql: statement, arguments: ["id": id])
                    return db.changesCount
                }
                guard let changes else { return 0 }
                isFinished = changes < StreamLeftovers.deleted
            }
        }
        return 1
    }

    private static let lastOpOfBucket = "SELECT last_op FROM buckets WHERE id = :id"
    private static let contentsOfBucket = [
        "DELETE FROM operations WHERE op_id IN (SELECT op_id FROM operations WHERE bucket = :id LIMIT \(StreamLeftovers.deleted))",
        // After the operations, so that none is left that could be sealed.
        "DELETE FROM segments WHERE bucket = :id",
        """
        DELETE FROM superseded_operations WHERE bucket = :id AND op_id IN (
            SELECT op_id FROM superseded_operations WHERE bucket = :id LIMIT \(StreamLeftovers.deleted))
        """,
        "DELETE FROM buckets WHERE id = :id",
    ]

    private static let lastOpOfLookup = "SELECT max(op_id) FROM parameter_entries WHERE lookup = :id"
    private static let contentsOfLookup = [
        """
        DELETE FROM superseded_entries WHERE op_id IN (
            SELECT s.op_id FROM parameter_entries AS e JOIN superseded_entries AS s ON s.op_id = e.op_id
            WHERE e.lookup = :id LIMIT \(StreamLeftovers.deleted))
        """,
        """
        DELETE FROM parameter_entries WHERE op_id IN (
            SELECT op_id FROM parameter_entries WHERE lookup = :id LIMIT \(StreamLeftovers.deleted))
        """,
        "DELETE FROM lookups WHERE id = :id",
    ]
}

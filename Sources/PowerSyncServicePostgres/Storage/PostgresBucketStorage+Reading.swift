import NIOConcurrencyHelpers
package import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Reading at a checkpoint (docs/service.md "Reading buckets").
extension PostgresBucketStorage {
    package func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.serving)
    }

    /// The most op ids between two checkpoints that are looked through.
    private static let maximumChanges: Int64 = 50_000

    package func changes(
        from earlier: StorageCheckpoint,
        to later: StorageCheckpoint
    ) async throws -> CheckpointChanges {
        guard earlier.streamID == later.streamID else { return .unknown }
        guard earlier.opID < later.opID else { return .known(buckets: [], lookups: []) }
        guard later.opID.rawValue - earlier.opID.rawValue <= Self.maximumChanges else { return .unknown }
        return try await look("reading what has changed") { db in
            func names(_ sql: String, _ read: @escaping (String) -> Void) -> PostgresStatements.Statement {
                PostgresStatements.Statement(
                    sql: sql,
                    arguments: [
                        .integer(later.streamID.rawValue), .integer(earlier.opID.rawValue),
                        .integer(later.opID.rawValue),
                    ]
                ) { read(try $0.text(0)) }
            }
            var (buckets, lookups): ([String], [String]) = ([], [])
            let readBuckets = names(
                """
                SELECT b.name FROM (
                    SELECT DISTINCT bucket FROM \(db.schema).operations WHERE stream = $1 AND op_id > $2 AND op_id <= $3
                ) AS o JOIN \(db.schema).buckets AS b ON b.stream = $1 AND b.id = o.bucket
                """
            ) { buckets.append($0) }
            let readLookups = names(
                """
                SELECT l.name FROM (
                    SELECT DISTINCT lookup FROM \(db.schema).parameter_entries WHERE stream = $1 AND op_id > $2 AND op_id <= $3
                ) AS e JOIN \(db.schema).lookups AS l ON l.stream = $1 AND l.id = e.lookup
                """
            ) { lookups.append($0) }
            var compacted: Int64?
            let view = PostgresStreamView.query(at: earlier, db) { compacted = $0 }
            try db.run(together: [readBuckets, readLookups, view])
            // What says what has changed may be gone.
            guard try !PostgresStreamView(compacted: compacted, at: earlier).isCompacted else { return .unknown }
            return .known(
                buckets: Set(buckets.map { BucketName($0) }),
                lookups: Set(lookups.map { ParameterLookup(rawValue: $0) })
            )
        }
    }

    package func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        guard !lookups.isEmpty else { return [:] }
        let lookups = Array(Set(lookups))
        return try await read("reading a parameter index", at: checkpoint) { db, last in
            var result: [ParameterLookup: Set<ParameterRow>] = [:]
            var total = 0
            func read(_ row: BinaryRow) throws {
                let rows: [ParameterRow]
                do {
                    rows = unsafe try StoredValues.decodeParameterRows(row.memory(1))
                } catch {
                    throw BucketStorageError(
                        .corrupted,
                        "A parameter entry of stream \(checkpoint.streamID) cannot be read.",
                        underlyingError: error
                    )
                }
                let lookup = try lookups[Int(row.integer(0)) - 1]
                for row in rows where result[lookup, default: []].insert(row).inserted { total += 1 }
                guard total <= limit else { throw BucketLimitError(limit: .parameterResults(limit: limit)) }
            }
            if try Self.readEntries(of: lookups, at: checkpoint, limit: limit, db, read) > limit {
                // Many of them may be equal: the server looks through all.
                let count = try Self.readEntries(of: lookups, at: checkpoint, limit: limit, areDistinct: true, db, read)
                guard count <= limit else { throw BucketLimitError(limit: .parameterResults(limit: limit)) }
            }
            try db.run(together: [last])
            return result.mapValues(Array.init)
        } check: { stream, _ in
            try stream.checkParameters()
        }
    }

    /// Reads the newest entry of each row of the source that has outputs: where its lookup is among the given ones, from 1, and the
    /// outputs.
    ///
    /// - Returns: How many there are, at most one more than `limit`: each has a row at least.
    static func readEntries(
        of lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int,
        areDistinct: Bool = false,
        _ db: PostgresStatements,
        _ read: (BinaryRow) throws -> Void
    ) throws -> Int {
        // In the order of the index, backwards: the server stops when there are enough, and sorts nothing.
        try db.run(
            """
            SELECT \(areDistinct ? "DISTINCT" : "") n.place, e.outputs
            FROM unnest($2::bytea[]) WITH ORDINALITY AS n (name, place)
                JOIN \(PostgresStorageSchema.named("\(db.schema).lookups", "n.name", as: "l"))
                JOIN LATERAL (
                    SELECT DISTINCT ON (source_table, source_key) outputs FROM \(db.schema).parameter_entries
                    WHERE stream = $1 AND lookup = l.id AND op_id <= $3
                    ORDER BY source_table DESC, source_key DESC, op_id DESC
                ) AS e ON e.outputs <> $4
            LIMIT $5
            """,
            [
                .integer(checkpoint.streamID.rawValue), .names(lookups.map(\.rawValue)),
                .integer(checkpoint.opID.rawValue), .bytes(StoredValues.encode([])),
                .integer(min(Int64(limit), Int64.max - 1) + 1),
            ],
            read
        )
    }

    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        try await read("reading checksums", at: checkpoint) { db, last in
            var checksums: [BucketName: BucketChecksum] = [:]
            checksums.reserveCapacity(buckets.count)
            for bucket in buckets { checksums[bucket] = .empty }
            // A bucket's state is that of its last operation. While more is written for the next checkpoint, which may be
            // millions of operations, the state at the last one is beside it. At another checkpoint, what lies between the two
            // is added or subtracted: that is little, as it was published a moment ago.
            let states = PostgresStatements.Statement(
                sql: """
                    SELECT n.place,
                        CASE WHEN b.last_op <= $3 THEN b.checksum ELSE b.published_checksum + coalesce(o.checksum, 0) END,
                        CASE WHEN b.last_op <= $3 THEN b.count ELSE b.published_count + coalesce(o.count, 0) END
                    FROM unnest($2::bytea[]) WITH ORDINALITY AS n (name, place)
                        JOIN \(PostgresStorageSchema.named("\(db.schema).buckets", "n.name", as: "b"))
                        LEFT JOIN LATERAL (
                            SELECT sum(CASE WHEN op_id > b.published_op THEN checksum ELSE -checksum END)::bigint AS checksum,
                                sum(CASE WHEN op_id > b.published_op THEN 1 ELSE -1 END) AS count
                            FROM \(db.schema).operations
                            WHERE b.last_op > $3 AND stream = $1 AND bucket = b.id
                                AND op_id > least(b.published_op, $3) AND op_id <= greatest(b.published_op, $3)
                        ) AS o ON true
                    """,
                arguments: [
                    .integer(checkpoint.streamID.rawValue), .names(buckets.map(\.rawValue)),
                    .integer(checkpoint.opID.rawValue),
                ]
            ) { row in
                checksums[buckets[Int(try row.integer(0)) - 1]] = BucketChecksum(
                    checksum: Checksum(truncating: try row.integer(1)),
                    count: try row.integer(2)
                )
            }
            try db.run(together: [states, last])
            return checksums
        } check: { stream, db in
            try stream.check(buckets, db)
        }
    }

    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        let positions = positions.sorted { $0.name < $1.name }
        let stream = checkpoint.streamID
        return try await read("reading bucket data", at: checkpoint) { [names] db, last in
            let reading = PostgresBucketReading(positions: positions, checkpoint: checkpoint, limits: limits)
            var known = names.withLockedValue { $0[stream, default: [:]] }
            while true {
                let missing: Set<Int64>
                switch try reading.read(db, names: known, then: last) {
                case .chunks(let chunks): return chunks
                case .missing(let numbers): missing = numbers
                }
                // Those and no others: what a published operation names is on the disk. Of a transaction that is not, the server may
                // lose the names, and give their numbers to other ones.
                let found = try db.rows(
                    "SELECT id, name FROM \(db.schema).names WHERE stream = $1 AND id = ANY ($2)",
                    [.integer(stream.rawValue), .integers(missing)]
                ) { try ($0.integer(0), $0.bytes(1)) }
                guard found.count == missing.count else {
                    // With the tables of a stream that was replaced, its names are gone, too.
                    var compacted: Int64?
                    try db.run(together: [PostgresStreamView.query(at: checkpoint, db) { compacted = $0 }])
                    _ = try PostgresStreamView(compacted: compacted, at: checkpoint)
                    throw BucketStorageError(
                        .corrupted,
                        "The name of a table is missing in the data of replication stream \(stream)."
                    )
                }
                known = names.withLockedValue { names in
                    names[stream, default: [:]].merge(found) { $1 }
                    return names[stream, default: [:]]
                }
            }
        } check: { stream, db in
            try stream.check(positions.lazy.map(\.name), db)
        }
    }
}

import GRDB
package import PowerSyncProtocol
package import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Reading at a checkpoint (docs/service.md "Reading buckets").
extension SQLiteBucketStorage {
    package func checkpoints(of stream: ActiveReplicationStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.serving)
    }

    package func changes(
        from earlier: StorageCheckpoint,
        to later: StorageCheckpoint
    ) async throws -> CheckpointChanges {
        guard earlier.streamID == later.streamID else { return .unknown }
        guard earlier.opID < later.opID else { return .known(buckets: [], lookups: []) }
        guard later.opID.rawValue - earlier.opID.rawValue <= Self.maximumChanges else { return .unknown }
        let range = OpRange(streamID: later.streamID, after: earlier.opID, through: later.opID)
        return try await read { db in
            let view = try StreamView(db, at: earlier)
            // What says what has changed may be gone.
            let sweptOp = try Int64.fetchOne(db, sql: "SELECT swept_op FROM op_sequence WHERE id = 1") ?? 0
            let isGone = view.isCompacted || earlier.opID.rawValue < sweptOp
            return isGone ? .unknown : try Self.changes(in: range, db)
        }
    }

    package func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        guard !lookups.isEmpty else { return [:] }
        return try await read { db in
            let view = try StreamView(db, at: checkpoint)
            try view.checkParameters()
            // Bare columns beside `max` are those of the row with the maximum: the newest entry of each source row.
            let statement = try PreparedStatement(
                db,
                sql: """
                    SELECT e.outputs, max(e.op_id)
                    FROM lookups AS l JOIN parameter_entries AS e ON e.lookup = l.id
                    WHERE l.stream = ? AND l.name = ? AND e.op_id <= ?
                    GROUP BY e.source_table, e.source_key
                    """
            )
            defer { statement.reset() }
            var result: [ParameterLookup: [ParameterRow]] = [:]
            var total = 0
            for lookup in Set(lookups) {
                var seen: Set<ParameterRow> = []
                statement.bind(checkpoint.streamID.rawValue, at: 1)
                statement.bind(lookup.rawValue, at: 2)
                statement.bind(checkpoint.opID.rawValue, at: 3)
                while try statement.step() {
                    let rows: [ParameterRow]
                    do {
                        rows = try unsafe StoredValues.decodeParameterRows(statement.blob(at: 0))
                    } catch {
                        throw BucketStorageError(
                            .corrupted,
                            "A parameter entry of stream \(checkpoint.streamID) cannot be read.",
                            underlyingError: error
                        )
                    }
                    for row in rows where seen.insert(row).inserted {
                        total += 1
                        guard total <= limit else { throw BucketLimitError(limit: .parameterResults(limit: limit)) }
                        result[lookup, default: []].append(row)
                    }
                }
            }
            return result
        }
    }

    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        try await read { db in
            let view = try StreamView(db, at: checkpoint)
            try view.check(buckets, db)
            // A bucket's state is that of its last operation. At a checkpoint before, the operations in between are subtracted,
            // which are not in segments: they are few, as they are not published yet or have just been. No row for a bucket that
            // was never written.
            let statement = try PreparedStatement(
                db,
                sql: """
                    SELECT b.checksum - coalesce(sum(o.checksum), 0), b.count - count(o.op_id), b.id, b.sealed_op
                    FROM buckets AS b LEFT JOIN operations AS o ON o.bucket = b.id AND o.op_id > max(?3, b.sealed_op)
                    WHERE b.stream = ?1 AND b.name = ?2
                    GROUP BY b.id
                    """
            )
            defer { statement.reset() }
            var checksums: [BucketName: BucketChecksum] = [:]
            checksums.reserveCapacity(buckets.count)
            for bucket in buckets {
                statement.bind(checkpoint.streamID.rawValue, at: 1)
                statement.bind(bucket.rawValue, at: 2)
                statement.bind(checkpoint.opID.rawValue, at: 3)
                var value = BucketChecksum.empty
                while try statement.step() {
                    value.checksum = Checksum(truncating: statement.integer(at: 0))
                    value.count = statement.integer(at: 1)
                    // Of an earlier checkpoint: sealing stops at what is published.
                    if statement.integer(at: 3) > checkpoint.opID.rawValue {
                        let sealed = try Self.sealed(after: checkpoint.opID, in: statement.integer(at: 2), db)
                        value.checksum -= sealed.checksum
                        value.count -= sealed.count
                    }
                }
                checksums[bucket] = value
            }
            return checksums
        }
    }

    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        let positions = positions.sorted { $0.name < $1.name }
        return try await read { db in
            let view = try StreamView(db, at: checkpoint)
            try view.check(positions.lazy.map(\.name), db)
            return try BucketDataReader(db, checkpoint: checkpoint, limits: limits).read(positions)
        }
    }

    /// What the segments of a bucket have above an op id.
    private static func sealed(after opID: OpID, in bucket: Int64, _ db: Database) throws -> BucketChecksum {
        let segments = try BucketSegments(db, bucket: bucket)
        var sealed = BucketChecksum.empty
        for segment in try segments.segments(from: opID.rawValue + 1, byteLimit: .max) {
            try segments.read(segment) { operation in
                guard operation.opID > opID.rawValue else { return true }
                sealed.checksum += operation.checksum
                sealed.count += 1
                return true
            }
        }
        return sealed
    }

    // MARK: Changes

    /// The most op ids between two checkpoints that are looked through.
    private static let maximumChanges = Int64(SealingLimits().unswept)

    /// The op ids between two checkpoints.
    private struct OpRange {
        var streamID: ReplicationStreamID
        var after: OpID
        var through: OpID
    }

    private static func changes(in range: OpRange, _ db: Database) throws -> CheckpointChanges {
        func names(_ sql: String) throws -> [String] {
            try String.fetchAll(
                db,
                sql: sql,
                arguments: [range.after.rawValue, range.through.rawValue, range.streamID.rawValue]
            )
        }
        // The ranges are read in the order of op ids, whatever else SQLite may think of.
        let buckets = try names(
            """
            SELECT b.name FROM (
                SELECT DISTINCT bucket FROM operations NOT INDEXED WHERE op_id > ? AND op_id <= ?
            ) AS o CROSS JOIN buckets AS b ON b.id = o.bucket
            WHERE b.stream = ?
            """
        )
        let lookups = try names(
            """
            SELECT l.name FROM (
                SELECT DISTINCT lookup FROM parameter_entries NOT INDEXED WHERE op_id > ? AND op_id <= ?
            ) AS e CROSS JOIN lookups AS l ON l.id = e.lookup
            WHERE l.stream = ?
            """
        )
        return .known(
            buckets: Set(buckets.map { BucketName($0) }),
            lookups: Set(lookups.map { ParameterLookup(rawValue: $0) })
        )
    }
}

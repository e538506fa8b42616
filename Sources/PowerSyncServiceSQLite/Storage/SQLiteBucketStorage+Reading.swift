package import PowerSyncServiceCore
import GRDB
package import PowerSyncProtocol
package import PowerSyncRules
import PowerSyncSQLite
import Synchronization

/// Reading at a checkpoint (docs/service.md "Reading buckets").
extension SQLiteBucketStorage {
    package func checkpoints(of stream: ActiveSyncStream) -> CheckpointSequence {
        feed.checkpoints(of: stream.id)
    }

    package func changes(
        from earlier: StorageCheckpoint,
        to later: StorageCheckpoint
    ) async throws -> CheckpointChanges {
        guard earlier.streamID == later.streamID else { return .unknown }
        return history.withLock { $0.changes(from: earlier.opID, to: later.opID, of: later.streamID) }
    }

    package func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        guard !lookups.isEmpty else { return [:] }
        return try await pool.read { db in
            let statement = try PreparedStatement(db, sql: Self.parameterQuery, interruption: .cancellation)
            defer { statement.reset() }
            var result: [ParameterLookup: [ParameterRow]] = [:]
            var total = 0
            for lookup in Set(lookups) {
                statement.bind(checkpoint.streamID.rawValue, at: 1)
                statement.bind(lookup.rawValue, at: 2)
                statement.bind(checkpoint.opID.rawValue, at: 3)
                while try statement.step() {
                    let rows: [ParameterRow]
                    do {
                        rows = try StoredValues.decodeParameterRows(statement.blob(at: 0))
                    } catch {
                        throw BucketStorageError(
                            .corrupted,
                            "A parameter entry of stream \(checkpoint.streamID) cannot be read.",
                            underlyingError: error
                        )
                    }
                    guard !rows.isEmpty else { continue }
                    total += rows.count
                    guard total <= limit else { throw BucketLimitError(limit: .parameterResults(limit: limit)) }
                    result[lookup, default: []].append(contentsOf: rows)
                }
            }
            return result
        }
    }

    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        try await checksumCache.checksums(buckets, at: checkpoint) { [pool] ranges in
            try await pool.read { db in
                let statement = try PreparedStatement(db, sql: Self.checksumQuery, interruption: .cancellation)
                defer { statement.reset() }
                return try ranges.map { range in
                    statement.bind(checkpoint.streamID.rawValue, at: 1)
                    statement.bind(range.bucket.rawValue, at: 2)
                    statement.bind(range.after.rawValue, at: 3)
                    statement.bind(range.through.rawValue, at: 4)
                    var sum = ChecksumCache.RangeSum(value: .empty, isWhole: false)
                    while try statement.step() {
                        sum.value.checksum = Checksum(truncating: statement.integer(at: 0))
                        sum.value.count = statement.integer(at: 1)
                        sum.isWhole = statement.integer(at: 2) != 0
                    }
                    return sum
                }
            }
        }
    }

    package func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        let positions = positions.sorted { $0.name < $1.name }
        return try await pool.read { db in
            try BucketDataReader(db, checkpoint: checkpoint, limits: limits).read(positions)
        }
    }

    /// The newest entry of each source row; bare columns beside `max` are those of the row with the maximum.
    private static let parameterQuery = """
        SELECT bucket_parameters, max(id) FROM bucket_parameters
        WHERE group_id = ? AND lookup = ? AND id <= ?
        GROUP BY source_table, source_key
        """

    private static let checksumQuery = """
        SELECT coalesce(sum(checksum), 0), count(*), coalesce(max(op = 'CLEAR'), 0) FROM bucket_data
        WHERE group_id = ? AND bucket_name = ? AND op_id > ? AND op_id <= ?
        """
}

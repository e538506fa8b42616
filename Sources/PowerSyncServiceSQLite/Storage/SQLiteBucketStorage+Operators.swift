import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
package import PowerSyncServiceCore

/// What operators ask (docs/dashboard.md).
///
/// What they look at is as long as the tables, so it is read a slice at a time, until the task is cancelled.
extension SQLiteBucketStorage {
    package var fileBacked: (any FileBacked)? { self }

    package func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList {
        var list = BucketList(total: 0, operations: 0, buckets: [])
        var largest: [BucketSlice.Bucket] = []
        var after: Int64? = 0
        while let id = after {
            try Task.checkCancellation()
            let slice = try await read { db in
                try BucketSlice(after: id, of: stream, search: search, db)
            }
            after = slice.lastID
            list.total += slice.found.count
            list.operations += slice.found.reduce(0) { $0 + $1.operations }
            largest += slice.found
            // Not those of all slices, of which there may be millions; and not sorted anew for each.
            guard after == nil || largest.count >= 2 * (offset + limit) + BucketSlice.size else { continue }
            largest.sort(by: BucketSlice.Bucket.precedes)
            largest.removeLast(max(0, largest.count - offset - limit))
        }
        // Sizes are looked up for those that are shown.
        for bucket in largest.dropFirst(offset) {
            let bytes =
                try await count(.tail(of: bucket.id, after: bucket.sealedOp)).bytes
                + count(.segments(of: bucket.id)).bytes
            list.buckets.append(
                BucketList.Bucket(name: bucket.name.rawValue, operations: bucket.operations, bytes: bytes)
            )
        }
        return list
    }

    package func sizes(after version: Int64?) async throws -> StorageSizes? {
        // Compaction and the deletion of a stream write no operations, but make what there is smaller.
        let present = try await read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT (SELECT last_op_id + swept_op FROM op_sequence WHERE id = 1)
                        + (SELECT coalesce(sum(compacted_op), 0) + count(*) FILTER (WHERE state = 'TERMINATED')
                            FROM replication_streams)
                    """
            )
        }
        guard let present, present != version else { return nil }
        // Operations before segments: those that move meanwhile are counted twice, and not left out.
        return StorageSizes(
            version: present,
            operations: try await count(.operations).bytes + count(.segments).bytes,
            parameters: try await count(.entries).bytes + count(.lookups).bytes,
            rows: try await count(.rowStates).bytes,
            bucketCount: try await count(.buckets).count
        )
    }

    /// Counts all slices.
    private func count(_ rows: SlicedSum) async throws -> SlicedSum {
        var sum = rows
        while !sum.isComplete {
            try Task.checkCancellation()
            sum = try await read { [sum] db in try sum.next(db) }
        }
        return sum
    }
}

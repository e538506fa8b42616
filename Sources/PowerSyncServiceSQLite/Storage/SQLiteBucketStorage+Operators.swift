import GRDB
import PowerSyncSQLite
package import PowerSyncServiceCore

/// What operators ask (docs/dashboard.md).
extension SQLiteBucketStorage {
    package func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList {
        try await pool.uncancelledRead { db in
            let total = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*), coalesce(sum(count), 0) FROM buckets WHERE group_id = ? AND instr(name, ?) > 0
                    """,
                arguments: [stream.rawValue, search]
            )
            // Sizes are looked up for those that are shown.
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT name, count,
                        (SELECT coalesce(sum(length(operations)), 0) FROM segments WHERE bucket = b.id)
                        + (SELECT coalesce(sum(coalesce(length(CAST(data AS BLOB)), 0) + coalesce(length(row_id), 0)), 0)
                            FROM operations WHERE bucket = b.id AND op_id > b.sealed_op) AS bytes
                    FROM (
                        SELECT id, name, count, sealed_op FROM buckets WHERE group_id = ? AND instr(name, ?) > 0
                        ORDER BY count DESC, name LIMIT ? OFFSET ?
                    ) AS b
                    ORDER BY count DESC, name
                    """,
                arguments: [stream.rawValue, search, limit, offset]
            )
            return BucketList(
                total: total?[0] ?? 0,
                operations: total?[1] ?? 0,
                buckets: rows.map { BucketList.Bucket(name: $0[0], operations: $0[1], bytes: $0[2]) }
            )
        }
    }

    package func sizes(after version: Int64?) async throws -> StorageSizes? {
        try await pool.uncancelledRead { db in
            // Compaction and the end of a stream write no operations, but make what there is smaller.
            let present = try Int64.fetchOne(
                db,
                sql: """
                    SELECT (SELECT last_op_id + swept_op FROM op_sequence WHERE id = 1)
                        + (SELECT coalesce(sum(compacted_op), 0) + count(*) FROM sync_rules
                            WHERE state NOT IN ('STOP', 'TERMINATED'))
                    """
            )
            guard let present, present != version else { return nil }
            func sum(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }
            return StorageSizes(
                version: present,
                // The length of a blob is known without reading it.
                operations: try sum("SELECT sum(length(operations)) FROM segments")
                    + sum(
                        "SELECT sum(coalesce(length(CAST(data AS BLOB)), 0) + coalesce(length(row_id), 0)) FROM operations"
                    ),
                parameters: try sum("SELECT sum(length(source_key) + length(outputs)) FROM parameter_entries")
                    + sum("SELECT sum(length(lookup)) FROM lookups"),
                rows: try sum("SELECT sum(length(source_key) + length(state)) FROM row_states"),
                bucketCount: Int(try sum("SELECT count(*) FROM buckets"))
            )
        }
    }
}

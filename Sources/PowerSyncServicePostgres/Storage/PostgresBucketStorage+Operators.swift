package import PowerSyncServiceCore

/// What operators ask (docs/dashboard.md).
extension PostgresBucketStorage {
    package var fileBacked: (any FileBacked)? { nil }

    package func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) async throws -> BucketList {
        try await read("reading the buckets of a stream") { db in
            let arguments: [PostgresArgument] = [.integer(stream.rawValue), .bytes(Array(search.utf8))]
            let total = try db.one(
                """
                SELECT count(*), coalesce(sum(count), 0)::bigint FROM \(db.schema).buckets
                WHERE stream = $1 AND position($2 IN name) > 0
                """,
                arguments
            ) { try (count: Int($0.integer(0)), operations: $0.integer(1)) }
            let part = arguments + [.integer(Int64(limit)), .integer(Int64(offset))]
            let buckets = try Self.measuredBuckets(part, db) ?? Self.buckets(part, bytes: "NULL::bigint", db)
            return BucketList(total: total.count, operations: total.operations, buckets: buckets)
        }
    }

    /// A part of the buckets with their sizes, for which all of their operations are read; `nil` when that takes longer than a
    /// second: the server has better things to do.
    private static func measuredBuckets(
        _ arguments: [PostgresArgument],
        _ db: PostgresStatements
    ) throws -> [BucketList.Bucket]? {
        let bytes = """
            (SELECT coalesce(sum(coalesce(octet_length(data), 0) + coalesce(octet_length(row_id), 0)), 0)::bigint
            FROM \(db.schema).operations WHERE stream = $1 AND bucket = b.id)
            """
        try db.script("SAVEPOINT sizes; SET LOCAL statement_timeout = '1s'")
        do {
            return try buckets(arguments, bytes: bytes, db)
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.queryCanceled {
            // With it goes the limit.
            try db.run("ROLLBACK TO SAVEPOINT sizes")
            return nil
        }
    }

    private static func buckets(
        _ arguments: [PostgresArgument],
        bytes: String,
        _ db: PostgresStatements
    ) throws -> [BucketList.Bucket] {
        try db.rows(
            """
            SELECT b.name, b.count, \(bytes)
            FROM (
                SELECT id, name, count FROM \(db.schema).buckets WHERE stream = $1 AND position($2 IN name) > 0
                ORDER BY count DESC, name LIMIT $3 OFFSET $4
            ) AS b
            ORDER BY b.count DESC, b.name
            """,
            arguments
        ) {
            BucketList.Bucket(
                name: try $0.text(0),
                operations: try $0.integer(1),
                bytes: try $0.optionalInteger(2)
            )
        }
    }

    /// How much is stored, in all streams: the pages of tables, which the server knows without reading them.
    package func sizes(after version: Int64?) async throws -> StorageSizes? {
        try await read("reading how much is stored") { db in
            // Compaction and the end of a stream write no operations, but make what there is smaller.
            let present =
                try db.one(
                    """
                    SELECT (SELECT last_value FROM \(db.schema).op_ids)
                        + (SELECT coalesce(sum(compacted_op), 0)::bigint + count(*) FILTER (WHERE state = 'TERMINATED')
                            FROM \(db.schema).replication_streams)
                    """
                ) { try $0.integer(0) }
            if present == version { return nil }
            func size(of table: String) throws -> Int64 {
                try db.one(
                    """
                    SELECT coalesce(sum(pg_table_size(inhrelid)), 0)::bigint FROM pg_inherits
                    WHERE inhparent = \(db.relation(table))
                    """
                ) { try $0.integer(0) }
            }
            return StorageSizes(
                version: present,
                operations: try size(of: "operations"),
                parameters: try size(of: "parameter_entries"),
                rows: try size(of: "row_states"),
                bucketCount: Int(try db.one("SELECT count(*) FROM \(db.schema).buckets") { try $0.integer(0) })
            )
        }
    }

    package func size() async throws -> Int64 {
        try await read("reading the size of the storage") { [schema] db in
            try db.one(
                """
                SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
                FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relkind = 'r'
                """,
                [.text(schema.name)]
            ) { try $0.integer(0) }
        }
    }
}

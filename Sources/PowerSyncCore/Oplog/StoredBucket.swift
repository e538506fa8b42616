package import GRDB
package import PowerSyncProtocol

/// A row of `ps_buckets`, for people.
package struct StoredBucket: Sendable, Hashable {
    /// The name.
    package let name: BucketName
    /// Operations up to here are accounted for.
    package let lastOp: OpID
    /// Operations up to here are published.
    package let lastAppliedOp: OpID
    /// How many operations were downloaded, whether they are still there or not.
    package let operations: Int64
    /// The size of everything that was downloaded, in bytes.
    package let bytes: Int64

    /// The buckets of a file, by name.
    package static func all(_ db: Database) throws -> [StoredBucket] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, last_op, last_applied_op, count_at_last, count_since_last, downloaded_size
                FROM ps_buckets WHERE name <> '$local' ORDER BY name
                """
        )
        return try rows.map { row in
            let countAtLast: Int64 = try row.stored(3, "ps_buckets.count_at_last")
            return StoredBucket(
                name: BucketName(try row.stored(0, "ps_buckets.name")),
                lastOp: OpID(try row.stored(1, "ps_buckets.last_op")),
                lastAppliedOp: OpID(try row.stored(2, "ps_buckets.last_applied_op")),
                operations: countAtLast.addingSaturating(try row.stored(4, "ps_buckets.count_since_last")),
                bytes: try row.stored(5, "ps_buckets.downloaded_size")
            )
        }
    }
}

import PowerSync

/// What is in a file that a worker syncs.
struct SyncedFile {
    /// The rows of `items`, with their titles.
    let view: [String: String]
    /// For each bucket, the last operation that was applied.
    let appliedOps: [String: Int64]
    /// Rows of which the next complete checkpoint decides.
    let updatedRows: Set<String>
    /// Rows in the upload queue.
    let queue: Set<String>
    /// Buckets whose operations do not add up to their checksum.
    let brokenBuckets: Int
    /// The indexes that a first download may do without.
    let oplogIndexes: Int

    init(_ database: any PowerSyncDatabaseProtocol) async throws {
        let items = try await database.getAll("SELECT id, title FROM items") { cursor in
            (try cursor.getString(index: 0), try cursor.getString(index: 1))
        }
        view = Dictionary(uniqueKeysWithValues: items)
        let buckets = try await database.getAll("SELECT name, last_applied_op FROM ps_buckets") { cursor in
            (try cursor.getString(index: 0), try cursor.getInt64(index: 1))
        }
        appliedOps = Dictionary(uniqueKeysWithValues: buckets)
        updatedRows = Set(
            try await database.getAll("SELECT row_id FROM ps_updated_rows") { try $0.getString(index: 0) }
        )
        queue = Set(try await database.getAll("SELECT data ->> 'id' FROM ps_crud") { try $0.getString(index: 0) })
        brokenBuckets = try await database.get(
            """
            SELECT count(*) FROM ps_buckets AS b WHERE b.op_checksum & 0xffffffff <>
                (SELECT ifnull(sum(hash), 0) & 0xffffffff FROM ps_oplog WHERE bucket = b.id)
            """
        ) { try $0.getInt(index: 0) }
        oplogIndexes = try await database.get(
            "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'ps_oplog'"
        ) { try $0.getInt(index: 0) }
    }
}

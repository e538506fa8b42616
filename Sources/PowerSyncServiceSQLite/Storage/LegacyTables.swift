import GRDB
import PowerSyncServiceCore

/// The tables of version 1 of ``SQLiteStorageSchema``, as far as a stream of that version is still served from them.
///
/// - `bucket_data`: the operations, by stream, name of the bucket and op id.
/// - `bucket_parameters`: entries of parameter indexes, by stream, lookup, source row and op id.
///
/// Nothing is written to them. When a stream of the current version is active, they are emptied in small steps, and
/// dropped.
enum LegacyTables {
    /// Version 1 of ``ReplicationStream`` data.
    static let storageVersion: Int64 = 1

    /// Makes the streams of a file of version 1 ready to be replaced: what is served goes on being served, and is not
    /// replicated any more.
    static func prepare(_ db: Database) throws {
        try stopReplication(db)
        try db.execute(sql: "DROP TABLE current_data; DROP TABLE source_tables")
    }

    /// Makes all streams ready to be replaced, without touching their data.
    static func stopReplication(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE sync_rules SET state = 'ERRORED' WHERE state = 'ACTIVE';
                UPDATE sync_rules SET state = 'STOP' WHERE state = 'PROCESSING';
                """
        )
    }

    /// Drops the tables when no stream needs them any more.
    static func dropIfUnused(_ db: Database) throws {
        let users = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM sync_rules WHERE storage_version = 1 AND state <> 'TERMINATED'"
        )
        guard users == 0 else { return }
        try db.execute(sql: "DROP TABLE IF EXISTS bucket_data; DROP TABLE IF EXISTS bucket_parameters")
    }

    /// How the data of a stream is deleted.
    static let deletions = [
        StreamDeletion(
            """
            DELETE FROM bucket_data WHERE (group_id, bucket_name, op_id) IN (
                SELECT group_id, bucket_name, op_id FROM bucket_data WHERE group_id = :stream LIMIT 5000)
            """
        ),
        StreamDeletion(
            """
            DELETE FROM bucket_parameters WHERE (group_id, lookup, source_table, source_key, id) IN (
                SELECT group_id, lookup, source_table, source_key, id FROM bucket_parameters
                WHERE group_id = :stream LIMIT 5000)
            """
        ),
    ]

    /// As ``ReadQueries``, with the stream as a parameter, for the tables of version 1.
    static let queries = ReadQueries(
        parameters: """
            SELECT bucket_parameters, max(id) FROM bucket_parameters
            WHERE group_id = ? AND lookup = ? AND id <= ?
            GROUP BY source_table, source_key
            """,
        checksum: """
            SELECT coalesce(sum(checksum), 0), count(*), 0, 0 FROM bucket_data
            WHERE group_id = ? AND bucket_name = ? AND op_id <= ?
            """,
        data: """
            SELECT op_id, op, checksum, target_op, source_table, source_key, table_name, row_id, data FROM bucket_data
            WHERE group_id = ? AND bucket_name = ? AND op_id > ? AND op_id <= ?
            ORDER BY op_id
            LIMIT ?
            """
    )
}

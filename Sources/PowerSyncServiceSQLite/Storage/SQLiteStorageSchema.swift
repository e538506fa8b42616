import PowerSyncServiceCore
import GRDB

/// The tables of `buckets.db` (docs/service.md "Bucket storage"), version 1.
///
/// The version is kept in `user_version`.
///
/// Names follow the established service, so that operators recognise them; contents are our own. Names, keys and
/// positions compare byte by byte (`BINARY`, the default collation). `group_id` is the replication stream.
///
/// - `op_sequence`: one row with the last op id given out. It advances in the transaction that stores the operations,
///   so there are no gaps, and a stored op id is never above it.
/// - `sync_rules`: the replication streams.
/// - `bucket_data`: the operations. `op` is `PUT`, `REMOVE`, `MOVE` or `CLEAR`; `checksum` is unsigned; `source_table`
///   and `source_key` (16 bytes) give the subkey. `checksum` stands before the texts, so that sums do not read overflow
///   pages.
/// - `bucket_parameters`: entries of parameter indexes, append-only. `id` is an op id, unique together with the other
///   columns of the key; an empty list in `bucket_parameters` is a tombstone.
/// - `current_data`: row states, see ``RowState``. A row of the source never returns by an older copy (snapshots and
///   streaming do not overlap), so deleted rows are really deleted.
/// - `source_tables`: see ``SourceTable``. `replica_id_columns` is JSON.
/// - `write_checkpoints`: the newest write checkpoint of a user with the source position it waits for, and the last one
///   that became visible before it. Not tied to a stream.
enum SQLiteStorageSchema {
    /// The version that this service writes.
    static let version = 1

    /// Creates the tables in an empty file.
    ///
    /// - Throws: ``BucketStorageError`` when the file was written by a newer version.
    static func migrate(_ db: Database) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw BucketStorageError(
                .unsupportedVersion,
                """
                The bucket storage has version \(found), this service can use versions up to \(version). \
                Use the service version that wrote it, or another file.
                """
            )
        }
        if found < 1 { try db.execute(sql: version1) }
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    private static let version1 = """
        CREATE TABLE op_sequence (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            last_op_id INTEGER NOT NULL
        );
        INSERT INTO op_sequence (id, last_op_id) VALUES (1, 0);

        CREATE TABLE sync_rules (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL,
            slot_name TEXT NOT NULL UNIQUE,
            content TEXT NOT NULL,
            sync_plan TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_lsn TEXT,
            last_checkpoint INTEGER,
            last_checkpoint_lsn TEXT,
            last_checkpoint_ts TEXT,
            no_checkpoint_before TEXT,
            keepalive_op INTEGER
        );

        CREATE TABLE bucket_data (
            group_id INTEGER NOT NULL,
            bucket_name TEXT NOT NULL,
            op_id INTEGER NOT NULL,
            op TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            target_op INTEGER,
            source_table TEXT,
            source_key BLOB,
            table_name TEXT,
            row_id TEXT,
            data TEXT,
            PRIMARY KEY (group_id, bucket_name, op_id)
        ) WITHOUT ROWID;

        CREATE TABLE bucket_parameters (
            group_id INTEGER NOT NULL,
            lookup TEXT NOT NULL,
            source_table TEXT NOT NULL,
            source_key BLOB NOT NULL,
            id INTEGER NOT NULL,
            bucket_parameters BLOB NOT NULL,
            PRIMARY KEY (group_id, lookup, source_table, source_key, id)
        ) WITHOUT ROWID;

        CREATE TABLE current_data (
            group_id INTEGER NOT NULL,
            source_table TEXT NOT NULL,
            source_key BLOB NOT NULL,
            buckets BLOB NOT NULL,
            lookups BLOB NOT NULL,
            PRIMARY KEY (group_id, source_table, source_key)
        ) WITHOUT ROWID;

        CREATE TABLE source_tables (
            id TEXT PRIMARY KEY,
            group_id INTEGER NOT NULL,
            relation_id TEXT NOT NULL,
            schema_name TEXT NOT NULL,
            table_name TEXT NOT NULL,
            replica_id_columns TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_last_key BLOB
        );
        CREATE INDEX source_tables_of_group ON source_tables (group_id);

        CREATE TABLE write_checkpoints (
            user_id TEXT PRIMARY KEY,
            write_checkpoint INTEGER NOT NULL,
            lsn TEXT NOT NULL,
            visible_write_checkpoint INTEGER,
            visible_lsn TEXT,
            checkpoint_requested_at TEXT
        );
        """
}

/// What each internal schema version stores about the way back (`database.md` 5.4, appendix B).
///
/// Payload N is executed by an *older* implementation whose latest version is N − 1. It therefore uses plain SQL and
/// `powersync_drop_view` only, and is never changed once released.
enum DownMigrations {
    /// The statements that lead from `version` to `version - 1`, in order.
    ///
    /// Empty for version 1.
    static func statements(from version: Int) -> [String] {
        all[version] ?? []
    }

    private static let dropManagedViews = """
        SELECT powersync_drop_view(name) FROM sqlite_master
        WHERE type = 'view' AND sql GLOB '*-- powersync-auto-generated'
        """

    private static let all: [Int: [String]] = [
        2: [
            "DELETE FROM ps_migration WHERE id >= 2",
            "DROP TABLE ps_tx",
            "ALTER TABLE ps_crud DROP COLUMN tx_id",
        ],
        3: [
            "DELETE FROM ps_migration WHERE id >= 3",
            "DROP TABLE ps_kv",
        ],
        4: [
            "DELETE FROM ps_migration WHERE id >= 4",
            "ALTER TABLE ps_buckets DROP COLUMN op_checksum",
            "ALTER TABLE ps_buckets DROP COLUMN remove_operations",
        ],
        5: version5,
        6: ["DELETE FROM ps_migration WHERE id >= 6"],
        7: [
            """
            INSERT OR REPLACE INTO ps_kv(key, value)
            SELECT 'last_synced_at', last_synced_at FROM ps_sync_state WHERE priority = 2147483647
            """,
            "DROP TABLE ps_sync_state",
            "DELETE FROM ps_migration WHERE id >= 7",
        ],
        8: [
            "ALTER TABLE ps_sync_state RENAME TO ps_sync_state_8",
            "CREATE TABLE ps_sync_state(priority INTEGER NOT NULL, last_synced_at TEXT NOT NULL) STRICT",
            """
            INSERT INTO ps_sync_state(priority, last_synced_at)
            SELECT priority, last_synced_at FROM ps_sync_state_8
            """,
            "DROP TABLE ps_sync_state_8",
            "DELETE FROM ps_migration WHERE id >= 8",
        ],
        9: [
            "ALTER TABLE ps_buckets DROP COLUMN count_at_last",
            "ALTER TABLE ps_buckets DROP COLUMN count_since_last",
            "DELETE FROM ps_migration WHERE id >= 9",
        ],
        10: [
            dropManagedViews,
            "DELETE FROM ps_migration WHERE id >= 10",
        ],
        11: [
            "DROP TABLE ps_stream_subscriptions",
            "DELETE FROM ps_migration WHERE id >= 11",
        ],
        12: [
            "ALTER TABLE ps_buckets DROP COLUMN downloaded_size",
            "DELETE FROM ps_migration WHERE id >= 12",
        ],
        13: [
            """
            UPDATE ps_stream_subscriptions
            SET expires_at = expires_at / 1000000, last_synced_at = last_synced_at / 1000000
            """,
            "ALTER TABLE ps_sync_state RENAME TO ps_sync_state_13",
            "CREATE TABLE ps_sync_state(priority INTEGER NOT NULL PRIMARY KEY, last_synced_at TEXT NOT NULL) STRICT",
            """
            INSERT INTO ps_sync_state(priority, last_synced_at)
            SELECT priority, datetime(last_synced_at / 1000000, 'unixepoch') FROM ps_sync_state_13
            """,
            "DROP TABLE ps_sync_state_13",
            "DELETE FROM ps_migration WHERE id >= 13",
        ],
        14: version14,
    ]

    /// Back to text bucket names, superseded operations and a `$local` bucket that lists removed rows.
    private static let version5: [String] = [
        dropManagedViews,
        "ALTER TABLE ps_buckets RENAME TO ps_buckets_5",
        "ALTER TABLE ps_oplog RENAME TO ps_oplog_5",
        """
        CREATE TABLE ps_buckets(
          name TEXT PRIMARY KEY,
          last_applied_op INTEGER NOT NULL DEFAULT 0,
          last_op INTEGER NOT NULL DEFAULT 0,
          target_op INTEGER NOT NULL DEFAULT 0,
          add_checksum INTEGER NOT NULL DEFAULT 0,
          pending_delete INTEGER NOT NULL DEFAULT 0,
          op_checksum INTEGER NOT NULL DEFAULT 0,
          remove_operations INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete)
        SELECT name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete
        FROM ps_buckets_5
        """,
        """
        CREATE TABLE ps_oplog(
          bucket TEXT NOT NULL,
          op_id INTEGER NOT NULL,
          op INTEGER NOT NULL,
          row_type TEXT,
          row_id TEXT,
          key TEXT,
          data TEXT,
          hash INTEGER NOT NULL,
          superseded INTEGER NOT NULL
        )
        """,
        "CREATE INDEX ps_oplog_by_row ON ps_oplog(row_type, row_id) WHERE superseded = 0",
        "CREATE INDEX ps_oplog_by_opid ON ps_oplog(bucket, op_id)",
        "CREATE INDEX ps_oplog_by_key ON ps_oplog(bucket, key) WHERE superseded = 0",
        """
        INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, data, hash, superseded)
        SELECT b.name, o.op_id, 3, o.row_type, o.row_id, o.key, o.data, o.hash, 0
        FROM ps_oplog_5 o JOIN ps_buckets_5 b ON b.id = o.bucket
        """,
        "DROP TABLE ps_oplog_5",
        "DROP TABLE ps_buckets_5",
        """
        INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded)
        SELECT '$local', 1, 4, row_type, row_id, 0, 0 FROM ps_updated_rows
        """,
        """
        INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op)
        VALUES ('$local', 1, 0, 9223372036854775807)
        """,
        "DROP TABLE ps_updated_rows",
        "DELETE FROM ps_migration WHERE id >= 5",
    ]

    /// Back to `target_op` and the write gate in a row named `$local`.
    private static let version14: [String] = [
        "ALTER TABLE ps_buckets RENAME TO ps_buckets_14",
        // Renaming a table keeps its indexes; the name is needed below.
        "DROP INDEX ps_buckets_name",
        """
        CREATE TABLE ps_buckets(
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL,
          last_applied_op INTEGER NOT NULL DEFAULT 0,
          last_op INTEGER NOT NULL DEFAULT 0,
          target_op INTEGER NOT NULL DEFAULT 0,
          add_checksum INTEGER NOT NULL DEFAULT 0,
          op_checksum INTEGER NOT NULL DEFAULT 0,
          pending_delete INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """,
        "CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name)",
        "ALTER TABLE ps_buckets ADD COLUMN count_at_last INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ps_buckets ADD COLUMN count_since_last INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ps_buckets ADD COLUMN downloaded_size INTEGER NOT NULL DEFAULT 0",
        """
        INSERT INTO ps_buckets(id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
          count_at_last, count_since_last, downloaded_size)
        SELECT id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
          count_at_last, count_since_last, downloaded_size
        FROM ps_buckets_14
        """,
        "DROP TABLE ps_buckets_14",
        """
        INSERT INTO ps_buckets(name, pending_delete, last_op, last_applied_op, target_op)
        SELECT '$local', 1,
          ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_seen_checkpoint_request_id'), 0),
          ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0),
          CAST(value AS INTEGER)
        FROM ps_kv WHERE key = 'target_checkpoint_request_id'
        ON CONFLICT(name) DO UPDATE SET
          pending_delete = excluded.pending_delete,
          last_op = excluded.last_op,
          last_applied_op = excluded.last_applied_op,
          target_op = excluded.target_op
        """,
        "DELETE FROM ps_migration WHERE id >= 14",
    ]
}

/// What each internal schema version stores about the way back (docs/database.md "Migrations").
///
/// Payload N is executed by an *older* implementation whose latest version is N − 1. It therefore uses plain SQL and
/// `powersync_drop_view` only, and is never changed once released.
///
/// No payload alters a table. `ALTER TABLE … RENAME` and `DROP COLUMN` parse all views and triggers of the file, and fail
/// where a trigger mentions the virtual table `powersync_crud`, which implementations before version 10 do not have: they
/// would never reach payload 10, which drops these triggers. Tables are copied instead. Views of the application that
/// mention something missing do no harm then, either.
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
        2: version2,
        3: [
            "DELETE FROM ps_migration WHERE id >= 3",
            "DROP TABLE ps_kv",
        ],
        4: [
            """
            CREATE TABLE ps_buckets_4 AS
            SELECT name, last_applied_op, last_op, target_op, add_checksum, pending_delete FROM ps_buckets ORDER BY rowid
            """,
            "DROP TABLE ps_buckets",
            """
            CREATE TABLE ps_buckets(
              name TEXT PRIMARY KEY,
              last_applied_op INTEGER NOT NULL DEFAULT 0,
              last_op INTEGER NOT NULL DEFAULT 0,
              target_op INTEGER NOT NULL DEFAULT 0,
              add_checksum INTEGER NOT NULL DEFAULT 0,
              pending_delete INTEGER NOT NULL DEFAULT 0
            )
            """,
            """
            INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, add_checksum, pending_delete)
            SELECT name, last_applied_op, last_op, target_op, add_checksum, pending_delete FROM ps_buckets_4 ORDER BY rowid
            """,
            "DROP TABLE ps_buckets_4",
            "DELETE FROM ps_migration WHERE id >= 4",
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
            "CREATE TABLE ps_sync_state_8 AS SELECT priority, last_synced_at FROM ps_sync_state",
            "DROP TABLE ps_sync_state",
            "CREATE TABLE ps_sync_state(priority INTEGER NOT NULL, last_synced_at TEXT NOT NULL) STRICT",
            """
            INSERT INTO ps_sync_state(priority, last_synced_at)
            SELECT priority, last_synced_at FROM ps_sync_state_8
            """,
            "DROP TABLE ps_sync_state_8",
            "DELETE FROM ps_migration WHERE id >= 8",
        ],
        9: removingBucketColumns(from: 9, keeping: []),
        10: [
            dropManagedViews,
            "DELETE FROM ps_migration WHERE id >= 10",
        ],
        11: [
            "DROP TABLE ps_stream_subscriptions",
            "DELETE FROM ps_migration WHERE id >= 11",
        ],
        12: removingBucketColumns(from: 12, keeping: ["count_at_last", "count_since_last"]),
        13: [
            """
            UPDATE ps_stream_subscriptions
            SET expires_at = expires_at / 1000000, last_synced_at = last_synced_at / 1000000
            """,
            """
            CREATE TABLE ps_sync_state_13 AS
            SELECT priority, datetime(last_synced_at / 1000000, 'unixepoch') AS last_synced_at FROM ps_sync_state
            """,
            "DROP TABLE ps_sync_state",
            "CREATE TABLE ps_sync_state(priority INTEGER NOT NULL PRIMARY KEY, last_synced_at TEXT NOT NULL) STRICT",
            """
            INSERT INTO ps_sync_state(priority, last_synced_at)
            SELECT priority, last_synced_at FROM ps_sync_state_13 WHERE last_synced_at IS NOT NULL
            """,
            "DROP TABLE ps_sync_state_13",
            "DELETE FROM ps_migration WHERE id >= 13",
        ],
        14: version14,
    ]

    /// Back to an upload queue without transaction ids.
    ///
    /// The ids of the queue must not start again, which dropping the table would make them do.
    private static let version2: [String] = [
        "CREATE TABLE ps_crud_2 AS SELECT id, data FROM ps_crud ORDER BY id",
        "CREATE TABLE ps_sequence_2 AS SELECT name, seq FROM sqlite_sequence WHERE name = 'ps_crud'",
        "DROP TABLE ps_crud",
        "CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT)",
        "INSERT INTO ps_crud(id, data) SELECT id, data FROM ps_crud_2 ORDER BY id",
        "DELETE FROM sqlite_sequence WHERE name = 'ps_crud'",
        "INSERT INTO sqlite_sequence(name, seq) SELECT name, seq FROM ps_sequence_2",
        "DROP TABLE ps_sequence_2",
        "DROP TABLE ps_crud_2",
        "DROP TABLE ps_tx",
        "DELETE FROM ps_migration WHERE id >= 2",
    ]

    /// Back to text bucket names, superseded operations and a `$local` bucket that lists removed rows.
    private static let version5: [String] = [
        dropManagedViews,
        """
        CREATE TABLE ps_oplog_5 AS
        SELECT ps_buckets.name AS bucket, op_id, row_type, row_id, key, data, hash
        FROM ps_oplog JOIN ps_buckets ON ps_buckets.id = ps_oplog.bucket
        """,
        """
        CREATE TABLE ps_buckets_5 AS
        SELECT name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete
        FROM ps_buckets ORDER BY id
        """,
        "DROP TABLE ps_oplog",
        "DROP TABLE ps_buckets",
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
        FROM ps_buckets_5 ORDER BY rowid
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
        SELECT bucket, op_id, 3, row_type, row_id, key, data, hash, 0 FROM ps_oplog_5 ORDER BY rowid
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
    ///
    /// The indexes of `ps_oplog` may be missing during a first download; older implementations do not look after them.
    private static let version14: [String] =
        [
            "CREATE INDEX IF NOT EXISTS ps_oplog_row ON ps_oplog(row_type, row_id)",
            "CREATE INDEX IF NOT EXISTS ps_oplog_opid ON ps_oplog(bucket, op_id)",
            "CREATE INDEX IF NOT EXISTS ps_oplog_key ON ps_oplog(bucket, key)",
        ]
        + rebuildingBuckets(from: 14, columns: counters, addedColumns: counters)
        + [
            """
            INSERT INTO ps_buckets(name, pending_delete, last_op, last_applied_op, target_op)
            SELECT '$local', 1,
              ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_seen_checkpoint_request_id'), 0),
              ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0),
              CAST(value AS INTEGER)
            FROM ps_kv WHERE key = 'target_checkpoint_request_id' AND value IS NOT NULL
            ON CONFLICT(name) DO UPDATE SET
              pending_delete = excluded.pending_delete,
              last_op = excluded.last_op,
              last_applied_op = excluded.last_applied_op,
              target_op = excluded.target_op
            """,
            "DELETE FROM ps_migration WHERE id >= 14",
        ]

    private static let counters = ["count_at_last", "count_since_last", "downloaded_size"]

    /// Removes the newest columns of `ps_buckets`, and the versions from `version` on.
    private static func removingBucketColumns(from version: Int, keeping kept: [String]) -> [String] {
        rebuildingBuckets(from: version, columns: ["target_op"] + kept, addedColumns: kept)
            + ["DELETE FROM ps_migration WHERE id >= \(version)"]
    }

    /// Creates `ps_buckets` in the shape of version 5, with some columns at its end, and copies rows.
    private static func rebuildingBuckets(
        from version: Int,
        columns copiedColumns: [String],
        addedColumns: [String]
    ) -> [String] {
        let columns =
            (["id", "name", "last_applied_op", "last_op", "add_checksum", "op_checksum", "pending_delete"]
            + copiedColumns).joined(separator: ", ")
        let additions = addedColumns.map { ",\n  \($0) INTEGER NOT NULL DEFAULT 0" }.joined()
        return [
            "CREATE TABLE ps_buckets_\(version) AS SELECT \(columns) FROM ps_buckets",
            "DROP TABLE ps_buckets",
            """
            CREATE TABLE ps_buckets(
              id INTEGER PRIMARY KEY,
              name TEXT NOT NULL,
              last_applied_op INTEGER NOT NULL DEFAULT 0,
              last_op INTEGER NOT NULL DEFAULT 0,
              target_op INTEGER NOT NULL DEFAULT 0,
              add_checksum INTEGER NOT NULL DEFAULT 0,
              op_checksum INTEGER NOT NULL DEFAULT 0,
              pending_delete INTEGER NOT NULL DEFAULT 0\(additions)
            ) STRICT
            """,
            "INSERT INTO ps_buckets(\(columns)) SELECT \(columns) FROM ps_buckets_\(version)",
            "DROP TABLE ps_buckets_\(version)",
            "CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name)",
        ]
    }
}

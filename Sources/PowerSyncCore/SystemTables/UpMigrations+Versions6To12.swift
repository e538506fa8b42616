import GRDB
import PowerSyncSQLite

// Additions of core 0.3.6 to 0.4.11.

extension UpMigrations {
    /// Version 6: rows without any operation are computed anew, and thereby deleted, by the next complete checkpoint.
    ///
    /// A defect of core before 0.3.5 left such rows behind. Rows of unfinished local writes are among them, too; those
    /// are restored by the checkpoint that covers their upload.
    static func recordDanglingRows(_ db: Database) throws {
        for table in try DataTable.fetchAll(db) where !table.isLocalOnly {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
                    SELECT :type, data.id FROM \(SQLText.identifier(table.internalName)) AS data
                    WHERE NOT EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = :type AND row_id = data.id)
                    """,
                arguments: ["type": table.name]
            )
        }
    }

    /// Version 7: when each priority was published last, as text in UTC.
    static func addSyncState(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_sync_state(priority INTEGER NOT NULL, last_synced_at TEXT NOT NULL) STRICT;
                INSERT INTO ps_sync_state(priority, last_synced_at)
                SELECT 2147483647, CAST(value AS TEXT) FROM ps_kv WHERE key = 'last_synced_at' AND value IS NOT NULL;
                """
        )
    }

    /// Version 8: one row per priority, the newest of those that were there.
    static func addKeyOfSyncState(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_sync_state_8 AS
                SELECT priority, max(last_synced_at) AS last_synced_at FROM ps_sync_state GROUP BY priority;
                DROP TABLE ps_sync_state;
                CREATE TABLE ps_sync_state(
                  priority INTEGER NOT NULL PRIMARY KEY,
                  last_synced_at TEXT NOT NULL
                ) STRICT;
                INSERT INTO ps_sync_state(priority, last_synced_at) SELECT priority, last_synced_at FROM ps_sync_state_8;
                DROP TABLE ps_sync_state_8;
                """
        )
    }

    /// Version 9: the number of operations at, and since, the last complete checkpoint.
    static func addProgressCounters(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE ps_buckets ADD COLUMN count_at_last INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE ps_buckets ADD COLUMN count_since_last INTEGER NOT NULL DEFAULT 0;
                """
        )
    }

    /// Version 11: the table of stream subscriptions.
    ///
    /// Times are in seconds.
    static func addStreamSubscriptions(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_stream_subscriptions(
                  id INTEGER NOT NULL PRIMARY KEY,
                  stream_name TEXT NOT NULL,
                  active INTEGER NOT NULL DEFAULT FALSE,
                  is_default INTEGER NOT NULL DEFAULT FALSE,
                  local_priority INTEGER,
                  local_params TEXT NOT NULL DEFAULT 'null',
                  ttl INTEGER,
                  expires_at INTEGER,
                  last_synced_at INTEGER,
                  UNIQUE (stream_name, local_params)
                ) STRICT;
                """
        )
    }

    /// Version 12: the bytes that were downloaded for a bucket.
    static func addDownloadedSize(_ db: Database) throws {
        try db.execute(sql: "ALTER TABLE ps_buckets ADD COLUMN downloaded_size INTEGER NOT NULL DEFAULT 0")
    }
}

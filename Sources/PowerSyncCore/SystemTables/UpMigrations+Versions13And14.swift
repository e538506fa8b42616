import GRDB

// What core 0.5.0 changed.

extension UpMigrations {
    /// Version 13: times are integers, in microseconds since 1970.
    ///
    /// Seconds beyond the range of 64-bit microseconds become the last instant of that range, for example the end of a
    /// subscription that never ends. A text that is no time is dropped: the status is then "never synced", until the next
    /// checkpoint.
    static func storeTimesInMicroseconds(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE ps_stream_subscriptions SET
                  expires_at = max(min(expires_at, 9223372036854), -9223372036854) * 1000000,
                  last_synced_at = max(min(last_synced_at, 9223372036854), -9223372036854) * 1000000;

                CREATE TABLE ps_sync_state_13 AS
                SELECT priority, unixepoch(last_synced_at) * 1000000 AS last_synced_at FROM ps_sync_state;
                DROP TABLE ps_sync_state;
                CREATE TABLE ps_sync_state(
                  priority INTEGER NOT NULL PRIMARY KEY,
                  last_synced_at INTEGER NOT NULL
                ) STRICT;
                INSERT INTO ps_sync_state(priority, last_synced_at)
                SELECT priority, last_synced_at FROM ps_sync_state_13 WHERE last_synced_at IS NOT NULL;
                DROP TABLE ps_sync_state_13;
                """
        )
    }

    /// Version 14: the write gate moves from the bucket `$local` to keys of `ps_kv`, and `target_op` goes.
    ///
    /// Keys that are there were left by an earlier way back from version 14; the bucket is newer. The counter of
    /// requested checkpoints stays.
    static func moveWriteGate(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM ps_kv WHERE key IN (
                  'last_applied_checkpoint_request_id', 'last_seen_checkpoint_request_id', 'target_checkpoint_request_id'
                );
                INSERT INTO ps_kv(key, value)
                SELECT key, value FROM (
                  SELECT 'last_applied_checkpoint_request_id' AS key, last_applied_op AS value
                  FROM ps_buckets WHERE name = '$local'
                  UNION ALL
                  SELECT 'last_seen_checkpoint_request_id', last_op FROM ps_buckets WHERE name = '$local'
                  UNION ALL
                  SELECT 'target_checkpoint_request_id', target_op FROM ps_buckets WHERE name = '$local'
                )
                WHERE value > 0;

                CREATE TABLE ps_buckets_14 AS
                SELECT id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
                  count_at_last, count_since_last, downloaded_size
                FROM ps_buckets WHERE name != '$local';
                DROP TABLE ps_buckets;
                CREATE TABLE ps_buckets(
                  id INTEGER PRIMARY KEY,
                  name TEXT NOT NULL,
                  last_applied_op INTEGER NOT NULL DEFAULT 0,
                  last_op INTEGER NOT NULL DEFAULT 0,
                  add_checksum INTEGER NOT NULL DEFAULT 0,
                  op_checksum INTEGER NOT NULL DEFAULT 0,
                  pending_delete INTEGER NOT NULL DEFAULT 0,
                  count_at_last INTEGER NOT NULL DEFAULT 0,
                  count_since_last INTEGER NOT NULL DEFAULT 0,
                  downloaded_size INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                INSERT INTO ps_buckets(
                  id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
                  count_at_last, count_since_last, downloaded_size
                )
                SELECT id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
                  count_at_last, count_since_last, downloaded_size
                FROM ps_buckets_14;
                DROP TABLE ps_buckets_14;
                CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name);
                """
        )
    }
}

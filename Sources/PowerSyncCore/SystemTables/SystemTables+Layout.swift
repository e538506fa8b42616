/// The internal tables at schema version 14, in the order in which they are created
/// (docs/database.md "Internal tables").
///
/// Other implementations read and write these tables: names, columns, their order, and the numbers in them are a
/// contract. Integers named "micros" are microseconds since 1970, UTC.
extension SystemTables {
    static let layout: [String] =
        [
            // One row per version 1 … 14. Current version = max(id).
            // down_migrations: JSON array of {"sql": …} that leads to version id - 1; NULL for id 1.
            migrationTable,

            // Rows of synced tables that are not in the client schema: (table, row id) → JSON object.
            "CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY (type, id))",

            // The upload queue. AUTOINCREMENT is part of the format: `sqlite_sequence` tells the upload loop about
            // writes that came and went. data: see QueuedWrite; tx_id: NULL in rows of version 1.
            "CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT, tx_id INTEGER)",

            // Exactly one row (1, NULL, n): n is the next transaction id of the upload queue.
            "CREATE TABLE ps_tx(id INTEGER PRIMARY KEY NOT NULL, current_tx INTEGER, next_tx INTEGER)",
            "INSERT INTO ps_tx(id, current_tx, next_tx) VALUES (1, NULL, 1)",

            // Keys: see KeyValueStore.Key.
            "CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB)",

            // last_applied_op: published up to here (0 also forces publication); last_op: sent to the service as
            // position; add_checksum/op_checksum: checksum of operations that are not / are in ps_oplog, low 32 bits
            // count; pending_delete: always 0; count_at_last/count_since_last: operations at and since the last
            // complete checkpoint; downloaded_size: bytes.
            """
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
            ) STRICT
            """,
            "CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name)",

            // PUT operations only. key: <row_type>/<row_id>/<subkey or "null">; data: the row as received; hash: the
            // operation's checksum, signed.
            """
            CREATE TABLE ps_oplog(
              bucket INTEGER NOT NULL,
              op_id INTEGER NOT NULL,
              row_type TEXT,
              row_id TEXT,
              key TEXT,
              data TEXT,
              hash INTEGER NOT NULL
            ) STRICT
            """,
        ] + oplogIndexes + [
            // The rows that the next complete checkpoint computes anew from ps_oplog.
            """
            CREATE TABLE ps_updated_rows(
              row_type TEXT,
              row_id TEXT,
              PRIMARY KEY(row_type, row_id)
            ) STRICT, WITHOUT ROWID
            """,

            // One row per priority that completed since the last complete checkpoint, 2147483647 = everything; micros.
            """
            CREATE TABLE ps_sync_state(
              priority INTEGER NOT NULL PRIMARY KEY,
              last_synced_at INTEGER NOT NULL
            ) STRICT
            """,

            // Column order is read by position elsewhere. ttl: seconds, NULL = no explicit subscription; expires_at and
            // last_synced_at: micros; local_params: canonical JSON text, 'null' = none.
            """
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
            ) STRICT
            """,
        ]

    static let migrationTable =
        "CREATE TABLE IF NOT EXISTS ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT)"

    /// The secondary indexes of `ps_oplog`.
    ///
    /// The bulk load of a first sync does without them; from then on every opening verifies that they exist.
    package static let oplogIndexes: [String] = [
        "CREATE INDEX IF NOT EXISTS ps_oplog_row ON ps_oplog(row_type, row_id)",
        "CREATE INDEX IF NOT EXISTS ps_oplog_opid ON ps_oplog(bucket, op_id)",
        "CREATE INDEX IF NOT EXISTS ps_oplog_key ON ps_oplog(bucket, key)",
    ]
}

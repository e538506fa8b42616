import GRDB

// The tables as they were before core 0.3.0.

extension UpMigrations {
    /// Version 1: operations, buckets, rows without table, the upload queue.
    ///
    /// `op` is 3 for PUT and 4 for REMOVE, although some triggers wrote the text `REMOVE`. Superseded operations stay
    /// for their checksums.
    static func createBaseTables(_ db: Database) throws {
        try db.execute(
            sql: """
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
                );
                CREATE INDEX ps_oplog_by_row ON ps_oplog(row_type, row_id) WHERE superseded = 0;
                CREATE INDEX ps_oplog_by_opid ON ps_oplog(bucket, op_id);
                CREATE INDEX ps_oplog_by_key ON ps_oplog(bucket, key) WHERE superseded = 0;

                CREATE TABLE ps_buckets(
                  name TEXT PRIMARY KEY,
                  last_applied_op INTEGER NOT NULL DEFAULT 0,
                  last_op INTEGER NOT NULL DEFAULT 0,
                  target_op INTEGER NOT NULL DEFAULT 0,
                  add_checksum INTEGER NOT NULL DEFAULT 0,
                  pending_delete INTEGER NOT NULL DEFAULT 0
                );

                CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY (type, id));

                CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT);
                """
        )
    }

    /// Version 2: the upload queue knows which SQL transaction made an entry; older entries have none.
    static func addTransactionIDs(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_tx(id INTEGER PRIMARY KEY NOT NULL, current_tx INTEGER, next_tx INTEGER);
                INSERT INTO ps_tx(id, current_tx, next_tx) VALUES (1, NULL, 1);
                ALTER TABLE ps_crud ADD COLUMN tx_id INTEGER;
                """
        )
    }

    /// Version 3: `ps_kv` with a new client id.
    static func addKeyValueStore(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB);
                INSERT INTO ps_kv(key, value) VALUES ('client_id', uuid());
                """
        )
    }

    /// Version 4: the checksum of all operations of a bucket that are in `ps_oplog`.
    static func addBucketChecksums(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE ps_buckets ADD COLUMN op_checksum INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE ps_buckets ADD COLUMN remove_operations INTEGER NOT NULL DEFAULT 0;
                UPDATE ps_buckets SET op_checksum = 0xffffffff & (
                  SELECT ifnull(sum(hash), 0) FROM ps_oplog WHERE ps_oplog.bucket = ps_buckets.name
                );
                """
        )
    }
}

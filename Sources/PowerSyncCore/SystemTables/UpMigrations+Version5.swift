import GRDB
import PowerSyncSQLite

extension UpMigrations {
    /// Version 5: `ps_oplog` keeps live PUT operations only, and refers to buckets by number.
    ///
    /// What the other operations said moves elsewhere: their checksums to `add_checksum` of the bucket, the rows that they
    /// removed to `ps_updated_rows`.
    static func compactOplog(_ db: Database) throws {
        try removeTriggersOfManagedViews(db)
        try rebuildBuckets(db)
        try rebuildOplog(db)
    }

    /// Creates our views again, without triggers.
    ///
    /// The triggers of that time write to columns that are about to go. The views have to stay: triggers of the
    /// application may write to them.
    private static func removeTriggersOfManagedViews(_ db: Database) throws {
        // Reading ends before the first view is dropped: SQLite refuses to do both at once.
        let views = try Row.fetchAll(
            db,
            sql: "SELECT name, sql FROM sqlite_master WHERE type = 'view' AND sql GLOB '*\(ViewDefinition.marker)'"
        )
        for view in views {
            try db.execute(sql: "DROP VIEW \(SQLText.identifier(view.stored(0, "sqlite_master.name")))")
            try db.execute(sql: view.stored(1, "sqlite_master.sql"))
        }
    }

    private static func rebuildBuckets(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_buckets_5 AS
                SELECT name, last_applied_op, last_op, target_op, pending_delete,
                  (add_checksum + dropped) & 0xffffffff AS add_checksum,
                  (op_checksum - dropped) & 0xffffffff AS op_checksum
                FROM (
                  SELECT *, rowid AS position, (
                    SELECT ifnull(sum(hash), 0) FROM ps_oplog
                    WHERE ps_oplog.bucket = ps_buckets.name AND (superseded = 1 OR op != 3)
                  ) AS dropped
                  FROM ps_buckets
                )
                ORDER BY position;
                DROP TABLE ps_buckets;

                CREATE TABLE ps_buckets(
                  id INTEGER PRIMARY KEY,
                  name TEXT NOT NULL,
                  last_applied_op INTEGER NOT NULL DEFAULT 0,
                  last_op INTEGER NOT NULL DEFAULT 0,
                  target_op INTEGER NOT NULL DEFAULT 0,
                  add_checksum INTEGER NOT NULL DEFAULT 0,
                  op_checksum INTEGER NOT NULL DEFAULT 0,
                  pending_delete INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                INSERT INTO ps_buckets(
                  name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete
                )
                SELECT name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete
                FROM ps_buckets_5 ORDER BY rowid;
                DROP TABLE ps_buckets_5;
                CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name);
                """
        )
    }

    /// Moves the operations; the buckets have their numbers already.
    private static func rebuildOplog(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE ps_updated_rows(
                  row_type TEXT,
                  row_id TEXT,
                  PRIMARY KEY(row_type, row_id)
                ) STRICT, WITHOUT ROWID;
                INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
                SELECT row_type, row_id FROM ps_oplog WHERE op != 3;

                CREATE TABLE ps_oplog_5 AS
                SELECT ps_buckets.id AS bucket, op_id, row_type, row_id, key, data, hash
                FROM ps_oplog JOIN ps_buckets ON ps_buckets.name = ps_oplog.bucket
                WHERE superseded = 0 AND op = 3
                ORDER BY ps_oplog.bucket, op_id;
                DROP TABLE ps_oplog;

                CREATE TABLE ps_oplog(
                  bucket INTEGER NOT NULL,
                  op_id INTEGER NOT NULL,
                  row_type TEXT,
                  row_id TEXT,
                  key TEXT,
                  data TEXT,
                  hash INTEGER NOT NULL
                ) STRICT;
                INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
                SELECT bucket, op_id, row_type, row_id, key, data, hash FROM ps_oplog_5 ORDER BY rowid;
                DROP TABLE ps_oplog_5;
                CREATE INDEX ps_oplog_row ON ps_oplog(row_type, row_id);
                CREATE INDEX ps_oplog_opid ON ps_oplog(bucket, op_id);
                CREATE INDEX ps_oplog_key ON ps_oplog(bucket, key);
                """
        )
    }
}

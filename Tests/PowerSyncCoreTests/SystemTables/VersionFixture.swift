import GRDB

/// A database file as an implementation of an older internal schema version left it, built from statements
/// written down here and not from our migrations.
///
/// The content is the same for every version, as far as the version can tell it: two lists with operations, a removed to-do,
/// a superseded and a compacted operation, a row without operations, unfinished local writes. ``UpMigrationsTests``
/// says what it has to become.
struct VersionFixture {
    /// The internal schema version, 1 … 13.
    let version: Int

    /// The statements that create the internal tables, without rows.
    var tables: [String] {
        var sql = [
            "CREATE TABLE ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT)",
            "CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY (type, id))",
            buckets,
            version < 2
                ? "CREATE TABLE ps_crud (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT)"
                : "CREATE TABLE ps_crud (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT, tx_id INTEGER)",
        ]
        if version < 5 {
            sql += [
                """
                CREATE TABLE ps_oplog(
                  bucket TEXT NOT NULL, op_id INTEGER NOT NULL, op INTEGER NOT NULL, row_type TEXT, row_id TEXT,
                  key TEXT, data TEXT, hash INTEGER NOT NULL, superseded INTEGER NOT NULL)
                """,
                "CREATE INDEX ps_oplog_by_row ON ps_oplog (row_type, row_id) WHERE superseded = 0",
                "CREATE INDEX ps_oplog_by_opid ON ps_oplog (bucket, op_id)",
                "CREATE INDEX ps_oplog_by_key ON ps_oplog (bucket, key) WHERE superseded = 0",
            ]
        } else {
            sql += [
                "CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets (name)",
                """
                CREATE TABLE ps_oplog(
                  bucket INTEGER NOT NULL, op_id INTEGER NOT NULL, row_type TEXT, row_id TEXT, key TEXT, data TEXT,
                  hash INTEGER NOT NULL) STRICT
                """,
                "CREATE INDEX ps_oplog_row ON ps_oplog (row_type, row_id)",
                "CREATE INDEX ps_oplog_opid ON ps_oplog (bucket, op_id)",
                "CREATE INDEX ps_oplog_key ON ps_oplog (bucket, key)",
                """
                CREATE TABLE ps_updated_rows(
                  row_type TEXT, row_id TEXT, PRIMARY KEY (row_type, row_id)) STRICT, WITHOUT ROWID
                """,
            ]
        }
        if version >= 2 {
            sql.append("CREATE TABLE ps_tx(id INTEGER PRIMARY KEY NOT NULL, current_tx INTEGER, next_tx INTEGER)")
        }
        if version >= 3 {
            sql.append("CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB)")
        }
        if version >= 7 {
            let key = version >= 8 ? "PRIMARY KEY" : ""
            let time = version >= 13 ? "INTEGER" : "TEXT"
            sql.append(
                "CREATE TABLE ps_sync_state(priority INTEGER NOT NULL \(key), last_synced_at \(time) NOT NULL) STRICT"
            )
        }
        if version >= 11 {
            sql.append(
                """
                CREATE TABLE ps_stream_subscriptions(
                  id INTEGER NOT NULL PRIMARY KEY, stream_name TEXT NOT NULL, active INTEGER NOT NULL DEFAULT FALSE,
                  is_default INTEGER NOT NULL DEFAULT FALSE, local_priority INTEGER,
                  local_params TEXT NOT NULL DEFAULT 'null', ttl INTEGER, expires_at INTEGER, last_synced_at INTEGER,
                  UNIQUE (stream_name, local_params)) STRICT
                """
            )
        }
        return sql
    }

    private var buckets: String {
        let number = "INTEGER NOT NULL DEFAULT 0"
        var columns: [String]
        if version < 5 {
            columns = ["name TEXT PRIMARY KEY"]
            columns += ["last_applied_op", "last_op", "target_op", "add_checksum", "pending_delete"].map {
                "\($0) \(number)"
            }
            if version == 4 { columns += ["op_checksum \(number)", "remove_operations \(number)"] }
            return "CREATE TABLE ps_buckets(\(columns.joined(separator: ", ")))"
        }
        columns = ["id INTEGER PRIMARY KEY", "name TEXT NOT NULL"]
        columns += ["last_applied_op", "last_op", "target_op", "add_checksum", "op_checksum", "pending_delete"]
            .map { "\($0) \(number)" }
        if version >= 9 { columns += ["count_at_last \(number)", "count_since_last \(number)"] }
        if version >= 12 { columns += ["downloaded_size \(number)"] }
        return "CREATE TABLE ps_buckets(\(columns.joined(separator: ", "))) STRICT"
    }

    /// Creates the tables with the rows that a file has that was never used.
    ///
    /// The ways back are ours: those of other implementations are specified by their effect only.
    func createTables(_ db: Database) throws {
        for sql in tables { try db.execute(sql: sql) }
        try recordVersions(db)
        if version >= 2 {
            try db.execute(sql: "INSERT INTO ps_tx VALUES (1, NULL, 1)")
        }
        if version >= 3 {
            try db.execute(sql: "INSERT INTO ps_kv VALUES ('client_id', ?)", arguments: [Self.clientID])
        }
    }

    /// Creates everything.
    func create(_ db: Database) throws {
        try createTables(db)
        try createClientObjects(db)
        try insertRows(db)
        try db.execute(sql: "PRAGMA user_version = 1")
    }
}

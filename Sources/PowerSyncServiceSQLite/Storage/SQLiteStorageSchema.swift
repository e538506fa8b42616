import GRDB
import PowerSyncServiceCore

/// The tables of `buckets.db` (docs/service.md "Bucket storage"), version 5.
///
/// The version is kept in `user_version`.
///
/// Names, keys and positions compare byte by byte (`BINARY`, the default collation). `group_id` is the replication
/// stream.
///
/// - `op_sequence`: one row with the last op id given out. It advances in the transaction that stores the operations,
///   so there are no gaps, and a stored op id is never above it. `synced` counts transactions that waited for the disk. Up
///   to `swept_op`, operations may be missing in `operations` because they are in segments.
/// - `source_histories`: the histories of sources in the order in which they were seen; see ``SourceHistory``. A history
///   that comes again after another one gets another `id`.
/// - `sync_rules`: the replication streams. `storage_version` tells which tables hold the data of a stream. Below
///   `compacted_op`, entries of parameter indexes may be missing. `version_label` is what operators call the config.
/// - `names`: texts that operations repeat: ids of source tables, and names of tables on clients. Never deleted.
/// - `buckets`: the state of each bucket, kept in the transaction that stores the operations: the last op id, the sum of
///   all checksums (unsigned), the number of operations. What precedes `cleared_op` was replaced by one `CLEAR`;
///   `is_uncleared` is set while compaction has yet to look for more. Operations up to `sealed_op` are in segments; `tail`
///   is the number of the others.
/// - `operations`: appended in the order of op ids, whatever the bucket, so that writing touches the end of the table
///   and small indexes only. `op` is `P`, `R`, `M` or `C`. `source_table` and `source_key` (16 bytes) give the subkey.
///   What is summed up stands before the texts, so that sums do not read overflow pages. Those up to the `sealed_op` of
///   their bucket are dead.
/// - `segments`: consecutive operations of one bucket, see ``SegmentEncoder``; the op ids of the first and the last.
/// - `lookups`: the lookups of parameter indexes.
/// - `parameter_entries`: entries of parameter indexes, appended; an empty list in `outputs` is a tombstone.
/// - `row_states`: where a row of the source is, see `RowStateTable`. A row of the source never returns by an older copy
///   (snapshots and streaming do not overlap), so deleted rows are really deleted.
/// - `superseded_operations`, `superseded_entries`: what a later operation or parameter entry (`by_op`) has made useless;
///   compaction takes it away.
/// - `source_tables`: see ``SourceTable``. `replica_id_columns` is JSON.
/// - `write_checkpoints`: the newest write checkpoint of a user with the source position it waits for, and the last one
///   that became visible before it. Not tied to a stream. `owner` is the user, who may have many clients; `used_at` is in seconds.
/// - `forgotten_write_checkpoints`: the largest number that was deleted of a user; others begin above it. That of the empty `owner` counts
///   for all users.
///
/// A file of version 1 keeps its tables `bucket_data` and `bucket_parameters` until a stream of version 2 has copied the
/// source and is active; see ``LegacyTables``. So does a file of version 2: it has the same tables without segments, but says
/// less in `row_states`.
enum SQLiteStorageSchema {
    /// The version that this service writes.
    static let version = 5

    /// Creates the tables in an empty file, and adds them to one of an earlier version.
    ///
    /// - Throws: ``BucketStorageError`` when the file was written by a newer version.
    static func migrate(_ db: Database) throws {
        let found = try version(db)
        try checkKnown(found)
        if found < 1 { try db.execute(sql: streams) }
        if found == 1 { try LegacyTables.prepare(db) }
        if found < 2 { try db.execute(sql: version2) }
        if found == 2 { try LegacyTables.stopReplication(db) }
        if found < 3 { try db.execute(sql: version3) }
        if found < 4 { try db.execute(sql: version4) }
        if found < 5 { try db.execute(sql: version5) }
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// Checks that a file has the current version.
    ///
    /// - Throws: ``BucketStorageError`` when it has another one.
    static func check(_ db: Database) throws {
        let found = try version(db)
        guard found == version else {
            throw BucketStorageError(
                .unsupportedVersion,
                """
                The bucket storage has version \(found), not \(version): start the service of this version once, or run \
                powersync migrate.
                """
            )
        }
    }

    /// The version of a file; 0 for an empty one.
    static func version(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    }

    /// Checks that a file is not newer than this service.
    ///
    /// - Throws: ``BucketStorageError`` when it is.
    static func checkKnown(_ found: Int) throws {
        guard found > version else { return }
        throw BucketStorageError(
            .unsupportedVersion,
            """
            The bucket storage has version \(found), this service can use versions up to \(version). \
            Use the service version that wrote it, or another file.
            """
        )
    }

    /// What ``migrate(_:)`` does with a file of a version, for operators.
    static func steps(from found: Int) -> [String] {
        guard found > 0 else { return ["The file and its tables are made."] }
        let copied = "The source is copied again; clients are served what there is until that is done."
        var steps: [String] = []
        if found < 2 { steps.append("Version 2: operations get tables of their own. \(copied)") }
        if found < 3 { steps.append("Version 3: operations of long buckets are kept together. \(copied)") }
        if found < 4 { steps.append("Version 4: write checkpoints of clients that are gone are deleted.") }
        if found < 5 { steps.append("Version 5: deployed sync configs have a version label.") }
        return steps
    }

    private static let streams = """
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

        CREATE TABLE write_checkpoints (
            user_id TEXT PRIMARY KEY,
            write_checkpoint INTEGER NOT NULL,
            lsn TEXT NOT NULL,
            visible_write_checkpoint INTEGER,
            visible_lsn TEXT,
            checkpoint_requested_at TEXT
        );
        """

    private static let version2 = """
        ALTER TABLE sync_rules ADD COLUMN storage_version INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE sync_rules ADD COLUMN history_id INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sync_rules ADD COLUMN compacted_op INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE op_sequence ADD COLUMN synced INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE write_checkpoints ADD COLUMN history_id INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE write_checkpoints ADD COLUMN visible_history_id INTEGER;

        CREATE TABLE source_histories (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            history TEXT NOT NULL
        );

        CREATE TABLE names (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        );

        CREATE TABLE buckets (
            id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            name TEXT NOT NULL,
            last_op INTEGER NOT NULL DEFAULT 0,
            checksum INTEGER NOT NULL DEFAULT 0,
            count INTEGER NOT NULL DEFAULT 0,
            cleared_op INTEGER NOT NULL DEFAULT 0,
            is_uncleared INTEGER NOT NULL DEFAULT 0,
            UNIQUE (group_id, name)
        );
        CREATE INDEX uncleared_buckets ON buckets (group_id) WHERE is_uncleared = 1;

        CREATE TABLE operations (
            op_id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            op TEXT NOT NULL,
            checksum INTEGER NOT NULL,
            target_op INTEGER,
            source_table INTEGER,
            source_key BLOB,
            table_name INTEGER,
            row_id TEXT,
            data TEXT
        );
        CREATE INDEX operations_of_bucket ON operations (bucket);

        CREATE TABLE lookups (
            id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            lookup TEXT NOT NULL,
            UNIQUE (group_id, lookup)
        );

        CREATE TABLE parameter_entries (
            op_id INTEGER PRIMARY KEY,
            lookup INTEGER NOT NULL,
            source_table INTEGER NOT NULL,
            source_key BLOB NOT NULL,
            outputs BLOB NOT NULL
        );
        CREATE INDEX entries_of_lookup ON parameter_entries (lookup);

        CREATE TABLE row_states (
            source_table INTEGER NOT NULL,
            source_key BLOB NOT NULL,
            state BLOB NOT NULL,
            PRIMARY KEY (source_table, source_key)
        ) WITHOUT ROWID;

        CREATE TABLE superseded (
            op_id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            by_op INTEGER NOT NULL
        );
        CREATE INDEX superseded_of_group ON superseded (group_id, by_op);

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
        """

    private static let version3 = """
        ALTER TABLE op_sequence ADD COLUMN swept_op INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE buckets ADD COLUMN sealed_op INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE buckets ADD COLUMN tail INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX long_tails ON buckets (id) WHERE tail >= \(SealingLimits().minimum);

        CREATE TABLE segments (
            id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            first_op INTEGER NOT NULL,
            last_op INTEGER NOT NULL,
            operations BLOB NOT NULL
        );
        CREATE UNIQUE INDEX segments_of_bucket ON segments (bucket, last_op);

        DROP TABLE superseded;
        CREATE TABLE superseded_operations (
            bucket INTEGER NOT NULL,
            op_id INTEGER NOT NULL,
            by_op INTEGER NOT NULL,
            PRIMARY KEY (bucket, op_id)
        ) WITHOUT ROWID;

        CREATE TABLE superseded_entries (
            op_id INTEGER PRIMARY KEY,
            group_id INTEGER NOT NULL,
            by_op INTEGER NOT NULL
        );
        CREATE INDEX superseded_entries_of_group ON superseded_entries (group_id, by_op);
        """

    private static let version4 = """
        ALTER TABLE write_checkpoints ADD COLUMN owner TEXT NOT NULL DEFAULT '';
        ALTER TABLE write_checkpoints ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
        UPDATE write_checkpoints
        SET owner = substr(user_id, 1, instr(user_id || '/', '/') - 1), used_at = CAST(strftime('%s') AS REAL);
        CREATE INDEX write_checkpoints_of_owner ON write_checkpoints (owner, used_at);

        CREATE TABLE forgotten_write_checkpoints (
            owner TEXT PRIMARY KEY,
            number INTEGER NOT NULL
        ) WITHOUT ROWID;
        """

    private static let version5 = "ALTER TABLE sync_rules ADD COLUMN version_label TEXT;"
}

import GRDB
import PowerSyncServiceCore

/// The tables of `buckets.db` (docs/service.md "Bucket storage"), version 1.
///
/// The version is in `user_version`. ``applicationID`` in `application_id` marks the file: the numbers in `user_version` mean
/// something else in the files of earlier builds, which have another mark or none, and in those of other programs.
///
/// Names, keys and positions compare byte by byte (`BINARY`, the default collation). `stream` is the replication
/// stream. Times are seconds since 1970. Tables and columns have the names that they have in `PostgresStorageSchema`, where
/// they mean the same.
///
/// - `op_sequence`: one row with the last op id given out. It advances in the transaction that stores the operations,
///   so there are no gaps, and a stored op id is never above it. `synced` counts transactions that waited for the disk. Up
///   to `swept_op`, operations may be missing in `operations` because they are in segments.
/// - `source_histories`: the histories of sources in the order in which they were seen; see ``SourceHistory``. A history
///   that comes again after another one gets another `id`.
/// - `replication_streams`: the replication streams, see ``StreamRecord``. Below `compacted_op`, entries of parameter indexes may
///   be missing. `version_label` is what operators call the config, `hash_key` the secret key of the hashes in row states, 16
///   random bytes, `source_handle` what the source keeps the stream under. `content` and `sync_plan`, which may be long, stand
///   last: each transaction of a writer reads what is before them.
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
/// - `source_tables`: see ``SourceTable``. `identity_columns`, `form` and `columns` are JSON.
/// - `write_checkpoints`: the newest write checkpoint of a user with the source position it waits for, and the last one
///   that became visible before it. Not tied to a stream. `owner` is the user, who may have many clients.
/// - `forgotten_write_checkpoints`: the largest number that was deleted of a user; others begin above it. That of the empty `owner` counts
///   for all users.
struct SQLiteStorageSchema: Sendable {
    /// What brings the tables from one version to the next.
    struct Migration: Sendable {
        /// What it does, a sentence for operators.
        var summary: String
        /// The statements.
        var script: String
    }

    /// The migrations of this service; the first one makes the tables.
    static let migrations = [Migration(summary: "The file and its tables are made.", script: tables)]
    /// Marks a file as a bucket storage: the ASCII letters `PSBJ`.
    static let applicationID: Int64 = 0x5053_424A

    /// The file.
    let path: String
    /// Leads to version 1, to version 2 and so on.
    var migrations = SQLiteStorageSchema.migrations

    /// Creates the tables in an empty file, and changes those of an earlier version.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when the file was written by a newer version, or as
    ///   ``version(_:)``.
    func migrate(_ db: Database) throws {
        let version = try version(db)
        try version.checkUse(path, migrates: true)
        for migration in migrations.dropFirst(version.found ?? 0) { try db.execute(sql: migration.script) }
        // Also where nothing has changed: a file that cannot be written is to be found now.
        try db.execute(
            sql: "PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version.current)"
        )
    }

    /// Checks that a file has the version of this service.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when it has another one, or as ``version(_:)``.
    func check(_ db: Database) throws {
        let version = try version(db)
        try version.checkUse(path, migrates: true)
        guard !version.isCurrent else { return }
        throw BucketStorageError(
            .unsupportedVersion,
            """
            The bucket storage at \(path) has version \(version.found ?? 0), not \(version.current): start the service of this \
            version once, or run powersync migrate.
            """
        )
    }

    /// The version of a file; nothing is found in one without tables.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` for tables of an earlier build or of another program.
    func version(_ db: Database) throws -> StorageVersion {
        if try Int64.fetchOne(db, sql: "PRAGMA application_id") == Self.applicationID,
            let found = try Int.fetchOne(db, sql: "PRAGMA user_version"), found > 0
        {
            return version(found: found)
        }
        guard try Self.tableNames(db).isEmpty else {
            throw try Self.streamTable(db) == nil ? BucketStorageError.notAStorage(path) : .ofEarlierBuild(path)
        }
        return version(found: nil)
    }

    /// A version that was found; `nil` for nothing.
    func version(found: Int?) -> StorageVersion {
        StorageVersion(
            found: found,
            current: migrations.count,
            steps: migrations.dropFirst(found ?? 0).map(\.summary)
        )
    }

    /// The table with the replication streams and its column with the handles of the source: those of earlier builds can still be
    /// listed and deleted; `nil` when there is none.
    static func streamTable(_ db: Database) throws -> (name: String, handle: String)? {
        let names = try tableNames(db)
        guard names.contains("op_sequence"),
            let table = ["replication_streams", "sync_rules"].first(where: names.contains)
        else { return nil }
        let isEarlier = try db.columns(in: table).contains { $0.name == "slot_name" }
        return (table, isEarlier ? "slot_name" : "source_handle")
    }

    private static func tableNames(_ db: Database) throws -> Set<String> {
        try Set(String.fetchAll(db, sql: "SELECT name FROM sqlite_master"))
    }

    private static let tables = """
        CREATE TABLE op_sequence (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            last_op_id INTEGER NOT NULL,
            synced INTEGER NOT NULL DEFAULT 0,
            swept_op INTEGER NOT NULL DEFAULT 0
        );
        INSERT INTO op_sequence (id, last_op_id) VALUES (1, 0);

        CREATE TABLE source_histories (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            history TEXT NOT NULL
        );

        CREATE TABLE replication_streams (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL,
            source_handle TEXT NOT NULL UNIQUE,
            version_label TEXT,
            hash_key BLOB NOT NULL CHECK (length(hash_key) = 16),
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_lsn TEXT,
            last_checkpoint INTEGER,
            last_checkpoint_lsn TEXT,
            last_checkpoint_at REAL,
            no_checkpoint_before TEXT,
            keepalive_op INTEGER,
            history_id INTEGER NOT NULL DEFAULT 0,
            compacted_op INTEGER NOT NULL DEFAULT 0,
            config_number INTEGER NOT NULL DEFAULT 1,
            last_config_number INTEGER NOT NULL DEFAULT 1,
            has_next INTEGER NOT NULL DEFAULT 0,
            next_version_label TEXT,
            next_filled_tables TEXT NOT NULL DEFAULT '',
            next_is_filled INTEGER NOT NULL DEFAULT 0,
            content TEXT NOT NULL,
            sync_plan TEXT NOT NULL,
            next_content TEXT,
            next_sync_plan TEXT
        );

        CREATE TABLE write_checkpoints (
            user_key TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            write_checkpoint INTEGER NOT NULL,
            lsn TEXT NOT NULL,
            history_id INTEGER NOT NULL,
            visible_write_checkpoint INTEGER,
            visible_lsn TEXT,
            visible_history_id INTEGER,
            requested_at REAL,
            used_at REAL NOT NULL
        );
        CREATE INDEX write_checkpoints_of_owner ON write_checkpoints (owner, used_at);

        CREATE TABLE forgotten_write_checkpoints (
            owner TEXT PRIMARY KEY,
            number INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE source_tables (
            id TEXT PRIMARY KEY,
            stream INTEGER NOT NULL,
            relation_id TEXT NOT NULL,
            schema_name TEXT NOT NULL,
            table_name TEXT NOT NULL,
            identity_columns TEXT NOT NULL,
            form TEXT NOT NULL,
            columns TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_last_key BLOB,
            is_outdated INTEGER NOT NULL DEFAULT 0,
            fill_config INTEGER,
            fill_last_key BLOB
        );
        CREATE INDEX source_tables_of_stream ON source_tables (stream);

        CREATE TABLE names (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        );

        CREATE TABLE buckets (
            id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            name TEXT NOT NULL,
            last_op INTEGER NOT NULL DEFAULT 0,
            checksum INTEGER NOT NULL DEFAULT 0,
            count INTEGER NOT NULL DEFAULT 0,
            cleared_op INTEGER NOT NULL DEFAULT 0,
            is_uncleared INTEGER NOT NULL DEFAULT 0,
            sealed_op INTEGER NOT NULL DEFAULT 0,
            tail INTEGER NOT NULL DEFAULT 0,
            UNIQUE (stream, name)
        );
        CREATE INDEX uncleared_buckets ON buckets (stream) WHERE is_uncleared = 1;
        CREATE INDEX long_tails ON buckets (id) WHERE tail >= \(SealingLimits().minimum);

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

        CREATE TABLE segments (
            id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            first_op INTEGER NOT NULL,
            last_op INTEGER NOT NULL,
            operations BLOB NOT NULL
        );
        CREATE UNIQUE INDEX segments_of_bucket ON segments (bucket, last_op);

        CREATE TABLE lookups (
            id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            name TEXT NOT NULL,
            UNIQUE (stream, name)
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

        CREATE TABLE superseded_operations (
            bucket INTEGER NOT NULL,
            op_id INTEGER NOT NULL,
            by_op INTEGER NOT NULL,
            PRIMARY KEY (bucket, op_id)
        ) WITHOUT ROWID;

        CREATE TABLE superseded_entries (
            op_id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            by_op INTEGER NOT NULL
        );
        CREATE INDEX superseded_entries_of_stream ON superseded_entries (stream, by_op);
        """
}

import PowerSyncServiceCore

/// The tables of the bucket storage in PostgreSQL (docs/postgres-storage.md "Tables"), version 1.
///
/// The version is in `migrations`. Everything is in one schema, which is the `search_path` of all sessions.
///
/// Names that come from sync configs, rows and clients are `bytea`: they may have any byte, and compare byte by byte. They are
/// found by `digest`, their SHA-256, because an index has no room for long ones. Positions are texts that compare byte by byte.
///
/// - `storage`: one row, whose random `id` was made with the tables: should it be another one, the storage is another one.
/// - `op_ids`: gives out op ids. Those of a transaction that was rolled back are missing.
/// - `numbers`: gives out the ids of interned names, buckets and lookups.
/// - `source_histories`: the histories of sources in the order in which they were seen; one that comes again after another
///   one gets another `id`.
/// - `streams`: the replication streams, see ``StreamRecord``. Below `compacted_op`, entries of parameter indexes may be
///   missing. `writer_epoch` is raised by everybody who becomes the writer, and compared by each of its transactions.
/// - `write_checkpoints`: the newest write checkpoint of a user with the source position it waits for, and the last one that
///   became visible before it. Not tied to a stream.
/// - `source_tables`: see ``SourceTable``. `identity_columns` is JSON.
///
/// The others hold what belongs to one stream, and are partitioned by `stream`:
///
/// - `names`: texts that operations repeat: ids of source tables, and names of tables on clients.
/// - `buckets`: the state of each bucket, kept in the transaction that stores the operations: the last op id, the sum of all
///   checksums (unsigned), the number of operations. `published_op`, `published_checksum` and `published_count` are what they
///   were when the first operation after a checkpoint was stored. What precedes `cleared_op` was replaced by one `CLEAR`; `is_uncleared` is
///   set while compaction has yet to look for more.
/// - `operations`: `op` is `P`, `R`, `M` or `C`. `source_table` and `source_key` give the subkey.
/// - `lookups`: the lookups of parameter indexes.
/// - `parameter_entries`: entries of parameter indexes, appended; an empty list in `outputs` is a tombstone.
/// - `row_states`: where a row of the source is, see ``StoredRow``.
/// - `superseded_operations`, `superseded_entries`: what a later operation or parameter entry (`by_op`) has made useless;
///   compaction takes it away.
///
/// All tables have a primary key: without one, PostgreSQL refuses to change rows of a table that is published, and a publication
/// for all tables of a database has these, too. No column of such a key is generated: those are not published.
struct PostgresStorageSchema {
    /// The version that this service writes.
    static let version: Int64 = 1
    /// The format of a stream's data that this service reads and writes.
    static let streamVersion: Int64 = 1

    /// The name of the schema.
    let name: String

    /// Settings of every session of the storage.
    var sessionSettings: [(name: String, value: String)] {
        [
            ("search_path", name),
            // What is acknowledged to the source must survive this server, also by the standby that it may wait for.
            ("synchronous_commit", "on"),
            // Rows are found by their keys, in tables of which the planner does not know yet how large they are.
            ("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"), ("jit", "off"),
            ("idle_in_transaction_session_timeout", "30s"),
            // A peer that vanishes is noticed within 30 s, and what it holds is free.
            ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
            ("tcp_user_timeout", "25s"),
        ]
    }

    // MARK: Migrating

    /// What a process wants of the tables.
    enum Preparation {
        /// To create or change them where that is necessary.
        case migrating
        /// That they have the version of this service.
        case checking
    }

    /// Makes sure that the tables have the version of this service.
    ///
    /// Several processes may do this at the same time: one after the other looks at the version, and changes it.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when they were made by a newer service.
    func prepare(_ preparation: Preparation, _ db: PostgresStatements) throws {
        if try current(db) == Self.version { return }
        guard case .migrating = preparation else {
            let found = try current(db)
            throw BucketStorageError(
                .unsupportedVersion,
                found.map { "The bucket storage in schema \(name) has version \($0), not \(Self.version)" }
                    .map { "\($0): start the service of this version once." }
                    ?? "There is no bucket storage in schema \(name): run `powersync migrate`, or let the service make it."
            )
        }
        try db.transaction {
            try db.run("SELECT pg_advisory_xact_lock(\(lockKey("migrations")))")
            let found = try current(db) ?? 0
            if found == 0 { try create(db) }
            for (version, script) in Self.migrations where version > found {
                try db.script(script)
                try db.run("INSERT INTO migrations (version) VALUES ($1)", [.integer(version)])
            }
        }
    }

    /// The version of the tables; `nil` when there are none.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when they were made by a newer service.
    func current(_ db: PostgresStatements) throws -> Int64? {
        guard let found = try stored(db) else { return nil }
        guard found <= Self.version else {
            throw BucketStorageError(
                .unsupportedVersion,
                """
                The bucket storage in schema \(name) has version \(found), this service can use versions up to \
                \(Self.version). Use the service version that wrote it, or another schema.
                """
            )
        }
        return found
    }

    /// The version of the tables, whatever it is; `nil` when there are none.
    func stored(_ db: PostgresStatements) throws -> Int64? {
        // By the name of the schema: what the session knows of its `search_path` may be older than the lock.
        let exists = try db.first(
            """
            SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = 'migrations'
            """,
            [.text(name)]
        ) { _ in true }
        guard exists == true else { return nil }
        let version = "SELECT coalesce(max(version), 0) FROM \(PostgresText.identifier(name)).migrations"
        return try db.first(version) { $0.integer(0) }
    }

    /// The id of the storage; `nil` when there is none.
    func identity(_ db: PostgresStatements) throws -> String? {
        try db.first("SELECT id::text FROM storage") { $0.text(0) } ?? nil
    }

    private func create(_ db: PostgresStatements) throws {
        // Asked first: who may not create schemas may still use one.
        let exists = try db.first("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(name)]) { _ in true }
        if exists == nil { try db.run("CREATE SCHEMA \(PostgresText.identifier(name))") }
        try db.script(
            """
            CREATE TABLE migrations (
                version bigint PRIMARY KEY,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
    }

    private static let migrations: [(version: Int64, script: String)] = [(1, version1 + reader)]

    private static let version1 = """
        CREATE SEQUENCE op_ids AS bigint;
        CREATE SEQUENCE numbers AS bigint;

        CREATE TABLE storage (id uuid PRIMARY KEY);
        INSERT INTO storage (id) VALUES (gen_random_uuid());

        CREATE TABLE source_histories (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            history text NOT NULL
        );

        CREATE TABLE streams (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            state text NOT NULL,
            slot_name text NOT NULL UNIQUE,
            content bytea NOT NULL,
            sync_plan text NOT NULL,
            storage_version bigint NOT NULL,
            snapshot_done boolean NOT NULL DEFAULT false,
            snapshot_lsn text COLLATE "C",
            last_checkpoint bigint,
            last_checkpoint_lsn text COLLATE "C",
            last_checkpoint_at timestamptz,
            no_checkpoint_before text COLLATE "C",
            keepalive_op bigint,
            history_id bigint NOT NULL DEFAULT 0,
            compacted_op bigint NOT NULL DEFAULT 0,
            writer_epoch bigint NOT NULL DEFAULT 0
        );

        CREATE TABLE write_checkpoints (
            user_key bytea NOT NULL,
            digest bytea PRIMARY KEY,
            write_checkpoint bigint NOT NULL,
            lsn text COLLATE "C" NOT NULL,
            history_id bigint NOT NULL,
            visible_write_checkpoint bigint,
            visible_lsn text COLLATE "C",
            visible_history_id bigint,
            requested_at timestamptz
        );

        CREATE TABLE source_tables (
            id text PRIMARY KEY,
            stream bigint NOT NULL,
            relation_id text NOT NULL,
            schema_name text NOT NULL,
            table_name text NOT NULL,
            identity_columns text NOT NULL,
            snapshot_done boolean NOT NULL DEFAULT false,
            snapshot_last_key bytea
        );
        CREATE INDEX ON source_tables (stream);

        CREATE TABLE names (
            stream bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('numbers'),
            name bytea NOT NULL,
            digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
            PRIMARY KEY (stream, id),
            UNIQUE (stream, digest)
        ) PARTITION BY LIST (stream);

        CREATE TABLE buckets (
            stream bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('numbers'),
            name bytea NOT NULL,
            digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
            last_op bigint NOT NULL DEFAULT 0,
            checksum bigint NOT NULL DEFAULT 0,
            count bigint NOT NULL DEFAULT 0,
            published_op bigint NOT NULL DEFAULT 0,
            published_checksum bigint NOT NULL DEFAULT 0,
            published_count bigint NOT NULL DEFAULT 0,
            cleared_op bigint NOT NULL DEFAULT 0,
            is_uncleared boolean NOT NULL DEFAULT false,
            PRIMARY KEY (stream, id),
            UNIQUE (stream, digest)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON buckets (id) WHERE is_uncleared;

        CREATE TABLE operations (
            stream bigint NOT NULL,
            bucket bigint NOT NULL,
            op_id bigint NOT NULL,
            checksum bigint NOT NULL,
            target_op bigint,
            source_table bigint,
            source_key uuid,
            table_name bigint,
            op "char" NOT NULL,
            row_id bytea,
            data text,
            PRIMARY KEY (stream, bucket, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON operations (op_id);

        CREATE TABLE lookups (
            stream bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('numbers'),
            name bytea NOT NULL,
            digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
            PRIMARY KEY (stream, id),
            UNIQUE (stream, digest)
        ) PARTITION BY LIST (stream);

        CREATE TABLE parameter_entries (
            stream bigint NOT NULL,
            op_id bigint NOT NULL,
            lookup bigint NOT NULL,
            source_table bigint NOT NULL,
            source_key uuid NOT NULL,
            outputs bytea NOT NULL,
            PRIMARY KEY (stream, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON parameter_entries (lookup, source_table, source_key, op_id);

        CREATE TABLE row_states (
            stream bigint NOT NULL,
            source_table bigint NOT NULL,
            source_key uuid NOT NULL,
            state bytea NOT NULL,
            PRIMARY KEY (stream, source_table, source_key)
        ) PARTITION BY LIST (stream);

        CREATE TABLE superseded_operations (
            stream bigint NOT NULL,
            bucket bigint NOT NULL,
            op_id bigint NOT NULL,
            by_op bigint NOT NULL,
            PRIMARY KEY (stream, bucket, op_id)
        ) PARTITION BY LIST (stream);

        CREATE TABLE superseded_entries (
            stream bigint NOT NULL,
            op_id bigint NOT NULL,
            by_op bigint NOT NULL,
            PRIMARY KEY (stream, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON superseded_entries (by_op);

        """

    /// Reads operations of several buckets, one bucket after the other, until there are enough.
    ///
    /// A query would read all of them before it leaves any out. `place` is where the bucket is in `bucket_names`, from 1.
    private static let reader = """
        CREATE FUNCTION bucket_operations(
            of_stream bigint, bucket_names bytea[], positions bigint[], through bigint,
            row_limit bigint, byte_limit bigint
        ) RETURNS TABLE (
            place integer, op_id bigint, op "char", checksum bigint, target_op bigint, source_table bigint,
            source_key uuid, table_name bigint, row_id bytea, data text
        ) LANGUAGE plpgsql STABLE AS $$
        DECLARE
            found_bucket bigint;
        BEGIN
            FOR i IN 1 .. coalesce(cardinality(bucket_names), 0) LOOP
                EXIT WHEN row_limit <= 0 OR byte_limit < 0;
                SELECT b.id INTO found_bucket FROM buckets AS b
                WHERE b.stream = of_stream AND b.digest = sha256(bucket_names[i]) AND b.last_op > positions[i];
                CONTINUE WHEN NOT FOUND;
                place := i;
                FOR op_id, op, checksum, target_op, source_table, source_key, table_name, row_id, data IN
                    SELECT o.op_id, o.op, o.checksum, o.target_op, o.source_table, o.source_key, o.table_name,
                        o.row_id, o.data
                    FROM operations AS o
                    WHERE o.stream = of_stream AND o.bucket = found_bucket
                        AND o.op_id > positions[i] AND o.op_id <= through
                    ORDER BY o.op_id
                    LIMIT row_limit
                LOOP
                    RETURN NEXT;
                    row_limit := row_limit - 1;
                    byte_limit := byte_limit - coalesce(octet_length(data), 0);
                    EXIT WHEN row_limit <= 0 OR byte_limit < 0;
                END LOOP;
            END LOOP;
        END
        $$;
        """

    /// Deletes everything that ``prepare(_:_:)`` and streams have made, and nothing else.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - check: Runs first, in the same transaction; nothing is deleted when it throws.
    /// - Throws: What `check` throws, or an error of the server.
    func erase(_ db: PostgresStatements, after check: () throws -> Void) throws {
        try db.transaction {
            try check()
            // Who has it open looks at once, and ends.
            try notify(db)
            for (table, _) in Self.partitioned { try db.run("DROP TABLE IF EXISTS \(table)") }
            for table in ["storage", "source_tables", "write_checkpoints", "streams", "source_histories", "migrations"]
            {
                try db.run("DROP TABLE IF EXISTS \(table)")
            }
            try db.script(
                """
                DROP SEQUENCE IF EXISTS op_ids, numbers;
                DROP FUNCTION IF EXISTS bucket_operations;
                """
            )
        }
    }

    // MARK: Partitions

    /// The tables that are partitioned, and how full their pages are made: rows of some change again and again.
    private static let partitioned: [(table: String, fillFactor: Int)] = [
        ("names", 100), ("buckets", 60), ("operations", 100), ("lookups", 100), ("parameter_entries", 100),
        ("row_states", 80), ("superseded_operations", 100), ("superseded_entries", 100),
    ]

    /// Creates the partitions of a stream.
    ///
    /// They are attached after they were made, which lets everybody go on reading and writing other streams.
    static func createPartitions(of stream: ReplicationStreamID, _ db: PostgresStatements) throws {
        for (table, fillFactor) in partitioned {
            try db.script(
                """
                CREATE TABLE \(table)_\(stream) (LIKE \(table) INCLUDING ALL) WITH (fillfactor = \(fillFactor));
                ALTER TABLE \(table) ATTACH PARTITION \(table)_\(stream) FOR VALUES IN (\(stream));
                """
            )
        }
    }

    /// Deletes the partitions of a stream; those that are gone already are left out.
    ///
    /// Everybody who reads waits for this, and it for them, such as `pg_dump`: not for long, or it fails, and is tried again later.
    static func dropPartitions(of stream: ReplicationStreamID, _ db: PostgresStatements) throws {
        try db.run("SET LOCAL lock_timeout TO '200ms'")
        for (table, _) in partitioned { try db.run("DROP TABLE IF EXISTS \(table)_\(stream)") }
    }
}

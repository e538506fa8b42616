import PowerSyncServiceCore

/// The tables of the bucket storage in PostgreSQL (docs/postgres-storage.md "Tables"), version 1.
///
/// The version is in `record_versions`; earlier builds had other tables, and their versions in ``StreamTable/earlier``.
/// Everything is in one schema, which each statement names. Tables and columns have the names that they have in
/// `SQLiteStorageSchema`, where they mean the same.
///
/// Names that come from sync configs, rows and clients are `bytea`: they may have any byte, and compare byte by byte. They are
/// found by `digest`, their SHA-256, because an index has no room for long ones. Positions are texts that compare byte by byte.
///
/// - `storage`: one row, whose random `id` was made with the tables: should it be another one, the storage is another one.
/// - `op_ids`: gives out op ids. Those of a transaction that was rolled back are missing.
/// - `numbers`: gives out the ids of interned names, buckets and lookups.
/// - `source_histories`: the histories of sources in the order in which they were seen; one that comes again after another
///   one gets another `id`.
/// - `replication_streams`: see ``StreamRecord``. Below `compacted_op`, entries of parameter indexes may be
///   missing. `writer_epoch` is raised by every process that becomes the writer, and compared by each of its transactions.
///   `version_label` is what operators call the config, `hash_key` the secret key of the hashes in row states, 16 random bytes,
///   `source_handle` what the source keeps the stream under.
/// - `writers`: the processes that have become the writer of a stream, with a random id and the op id of the checkpoint that it
///   began with: see ``StorageLineage``.
/// - `write_checkpoints`: the newest write checkpoint of a user with the source position it waits for, and the last one that
///   became visible before it. Not tied to a stream. `owner` is the SHA-256 of the user, who may have many clients.
/// - `forgotten_write_checkpoints`: the largest number that was deleted of a user; others begin above it. That of the empty `owner`
///   counts for all users.
/// - `source_tables`: see ``SourceTable``. `identity_columns`, `form` and `columns` are JSON.
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
    /// What brings the tables from one version to the next.
    struct Migration: Sendable {
        /// What it does, a sentence for operators.
        var summary: String
        /// The statements, which name the schema.
        var script: @Sendable (_ schema: String) -> String
    }

    /// The name of the schema.
    let name: String
    /// The id that the storage has in which a process began; `nil` before there is one.
    var id: String?
    /// Leads to version 1, to version 2 and so on.
    var migrations = PostgresStorageSchema.migrations

    /// The version that this service writes.
    var version: Int64 { Int64(migrations.count) }

    /// Settings of every session of the storage.
    ///
    /// No table is found without the name of its schema. What must be so for a transaction is set in it: these settings are those of
    /// the session, which may be another one behind a pooler.
    var sessionSettings: [(name: String, value: String)] {
        [
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
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when they were made by a newer service, or an earlier build.
    func prepare(_ preparation: Preparation, _ db: PostgresStatements) throws {
        if try current(db) == version { return }
        guard case .migrating = preparation else {
            let found = try current(db)
            throw BucketStorageError(
                .unsupportedVersion,
                found.map { "The bucket storage in schema \(name) has version \($0), not \(version)" }
                    .map { "\($0): run `powersync migrate`, or let the service do it." }
                    ?? "There is no bucket storage in schema \(name): run `powersync migrate`, or let the service make it."
            )
        }
        try db.transaction {
            try db.run("SELECT pg_advisory_xact_lock(\(lockKey("migrations")))")
            let found = try current(db) ?? 0
            if found == 0 { try create(db) }
            for (version, migration) in zip(Int64(1)..., migrations) where version > found {
                try db.script(migration.script(db.schema))
                try db.run("INSERT INTO \(db.schema).record_versions (version) VALUES ($1)", [.integer(version)])
            }
        }
    }

    /// What ``prepare(_:_:)`` does with tables of a version, for operators; 0 when there are none.
    func steps(from found: Int64) -> [String] {
        zip(Int64(1)..., migrations).filter { $0.0 > found }.map { $0.1.summary }
    }

    /// The version of the tables; `nil` when there are none.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when they were made by a newer service, or an earlier build.
    func current(_ db: PostgresStatements) throws -> Int64? {
        guard let found = try stored(db) else { return nil }
        guard found <= version else {
            throw BucketStorageError(
                .unsupportedVersion,
                """
                The bucket storage in schema \(name) has version \(found), this service can use versions up to \
                \(version). Use the service version that wrote it, or another schema.
                """
            )
        }
        return found
    }

    /// The version of the tables, also of a newer service; `nil` when there are none.
    ///
    /// - Throws: ``BucketStorageError`` with code `unsupportedVersion` when they were made by an earlier build.
    func stored(_ db: PostgresStatements) throws -> Int64? {
        switch try contents(db) {
        case .nothing: return nil
        case .ofEarlierBuild:
            throw BucketStorageError(
                .unsupportedVersion,
                """
                The bucket storage in schema \(name) was written by an earlier build, and this one cannot use it: run \
                `powersync teardown`; then everything is copied from the source again.
                """
            )
        case .present:
            return try db.first("SELECT coalesce(max(version), 0) FROM \(db.schema).record_versions") {
                try $0.integer(0)
            }
        }
    }

    /// What a schema has of a storage.
    enum Contents {
        /// No tables.
        case nothing
        /// Tables of builds before `record_versions`: their streams can still be listed, and all of them be deleted.
        case ofEarlierBuild(StreamTable)
        /// Tables that have a version.
        case present

        /// The tables with the replication streams and with the versions; `nil` when there are none.
        var tables: StreamTable? {
            switch self {
            case .nothing: nil
            case .ofEarlierBuild(let tables): tables
            case .present: .current
            }
        }
    }

    /// What the tables with the replication streams and with the versions are called.
    struct StreamTable {
        var streams: String
        /// The column with the handles of the source.
        var handle: String
        var versions: String

        /// Those of this service.
        static let current = StreamTable(
            streams: "replication_streams",
            handle: "source_handle",
            versions: "record_versions"
        )
        /// Those of earlier builds, the newest first.
        static let earlier = [
            StreamTable(streams: "replication_streams", handle: "source_handle", versions: "table_versions"),
            StreamTable(streams: "replication_streams", handle: "source_handle", versions: "schema_versions"),
            StreamTable(streams: "replication_streams", handle: "slot_name", versions: "layout_versions"),
            StreamTable(streams: "streams", handle: "slot_name", versions: "storage_versions"),
            StreamTable(streams: "streams", handle: "slot_name", versions: "migrations"),
        ]
    }

    /// Looks for the tables of a storage.
    func contents(_ db: PostgresStatements) throws -> Contents {
        let versions = ([StreamTable.current] + StreamTable.earlier).map { "'\($0.versions)'" }.joined(separator: ", ")
        let names = try db.rows(
            """
            SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = $1
                AND (c.relname = 'op_ids' OR c.relname IN (\(versions)))
            """,
            [.text(name)]
        ) { try $0.text(0) }
        // A table with such a name alone may be one of an app.
        guard names.contains("op_ids") else { return .nothing }
        if names.contains(StreamTable.current.versions) { return .present }
        return StreamTable.earlier.first { names.contains($0.versions) }.map { .ofEarlierBuild($0) } ?? .nothing
    }

    /// The id of the storage; `nil` when there is none.
    func identity(_ db: PostgresStatements) throws -> String? {
        try db.first("SELECT id::text FROM \(db.schema).storage") { $0.optionalText(0) } ?? nil
    }

    /// The error of a process that finds another storage than it began with.
    var otherStorage: BucketStorageError {
        BucketStorageError(
            .otherStorage,
            """
            The bucket storage in schema \(name) was deleted, made again or set back while this process used it, which \
            has to be started again. After a backup was restored, or a standby took over that had not got everything, run \
            `powersync teardown` first.
            """
        )
    }

    private func create(_ db: PostgresStatements) throws {
        // Asked first: a role that may not create schemas may still use one.
        let exists = try db.first("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(name)]) { _ in true }
        if exists == nil { try db.run("CREATE SCHEMA \(PostgresText.identifier(name))") }
        try db.script(
            """
            CREATE TABLE \(db.schema).record_versions (
                version bigint PRIMARY KEY,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
    }

    /// Deletes everything that ``prepare(_:_:)`` and streams have made, also in an earlier build, and nothing else.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - check: Runs first, in the same transaction; nothing is deleted when it throws.
    /// - Throws: What `check` throws, or an error of the server.
    func erase(_ db: PostgresStatements, after check: () throws -> Void) throws {
        try db.transaction {
            try check()
            // A process that has it open looks at once, and ends.
            try notify(db)
            guard let tables = try contents(db).tables else { return }
            for (table, _) in Self.partitioned { try db.run("DROP TABLE IF EXISTS \(db.schema).\(table)") }
            for table in [
                "storage", "source_tables", "writers", "write_checkpoints", "forgotten_write_checkpoints",
                tables.streams,
                "source_histories", tables.versions,
            ] {
                try db.run("DROP TABLE IF EXISTS \(db.schema).\(table)")
            }
            try db.script(
                """
                DROP SEQUENCE IF EXISTS \(db.schema).op_ids, \(db.schema).numbers;
                DROP FUNCTION IF EXISTS \(db.schema).bucket_operations;
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
    /// They are attached after they were made, so that other streams are read and written meanwhile.
    static func createPartitions(of stream: ReplicationStreamID, _ db: PostgresStatements) throws {
        for (table, fillFactor) in partitioned {
            try db.script(
                """
                CREATE TABLE \(db.schema).\(table)_\(stream) (LIKE \(db.schema).\(table) INCLUDING ALL)
                    WITH (fillfactor = \(fillFactor));
                ALTER TABLE \(db.schema).\(table) ATTACH PARTITION \(db.schema).\(table)_\(stream)
                    FOR VALUES IN (\(stream));
                """
            )
        }
    }

    /// Deletes the partitions of a stream; those that are gone already are left out.
    ///
    /// All readers wait for this, and it for them, such as `pg_dump`: not for long, or it fails, and is tried again later.
    static func dropPartitions(of stream: ReplicationStreamID, _ db: PostgresStatements) throws {
        try db.run("SET LOCAL lock_timeout TO '200ms'")
        for (table, _) in partitioned { try db.run("DROP TABLE IF EXISTS \(db.schema).\(table)_\(stream)") }
    }
}

package import Foundation
package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Bucket storage in a schema of a PostgreSQL database, for any number of processes (docs/postgres-storage.md).
///
/// Each call is a transaction of its own on a connection of a pool; a writer has a connection to itself, which holds its lease.
/// ``PostgresStorageSchema`` lists the tables.
package final class PostgresBucketStorage: Sendable {
    /// Where the storage is, and how it is used.
    package struct Settings: Sendable {
        /// How to connect: to the primary itself, or through a pooler of sessions.
        package var connection: PostgresConnectionString
        /// The schema of its tables.
        package var schema = PostgresBucketStorage.defaultSchema
        /// The most connections for reading; writers have their own.
        package var maximumConnections = 8
        /// What the handles of streams begin with.
        package var handlePrefix = "powersync_"
        /// The schema of tables that a plan names without one: that of the source.
        package var defaultTableSchema = "public"

        /// Creates settings.
        package init(connection: PostgresConnectionString) {
            self.connection = connection
        }
    }

    /// What a process does with the storage.
    package enum Use: Sendable {
        /// It runs the service.
        case service
        /// It compacts; the storage must exist, and be of the current version.
        case maintenance
    }

    /// The default schema of the tables.
    package static let defaultSchema = "powersync_storage"

    let settings: Settings
    let schema: PostgresStorageSchema
    let pool: PostgresPool
    /// What this process calls itself when it tells others something.
    let processID = RandomID.make()
    /// The newest checkpoint of the active stream that this process knows of.
    package let feed: CheckpointFeed
    /// Tells the time for diagnostics.
    let now: @Sendable () -> Date
    /// Makes ids of source tables and handles of streams.
    let makeID: @Sendable () -> String
    /// Measures signs of life and pauses.
    let clock: any Clock<Duration>
    let logger: Logger
    /// Connections of callers that wait for a lease, and ask for it every second.
    let waiting = NIOLockedValueBox<[ReplicationStreamID: PostgresConnection]>([:])
    /// Names that operations of a stream repeat, by their numbers; none that only a transaction has which may be lost.
    let names = NIOLockedValueBox<[ReplicationStreamID: [Int64: [UInt8]]]>([:])
    package let configs: StreamConfigs
    /// What was seen of the writers of the served stream.
    let lineage: NIOLockedValueBox<StorageLineage?>
    /// Whether a connection has run into another session than its own.
    private let hasNoSessions = NIOLockedValueBox(false)

    private init(
        _ settings: Settings,
        pool: PostgresPool,
        schema: PostgresStorageSchema,
        checkpoint: StorageCheckpoint?,
        lineage: StorageLineage?,
        now: @escaping @Sendable () -> Date,
        makeID: @escaping @Sendable () -> String,
        clock: any Clock<Duration>,
        logger: Logger
    ) {
        self.settings = settings
        self.schema = schema
        self.pool = pool
        self.now = now
        self.makeID = makeID
        self.clock = clock
        self.logger = logger
        feed = CheckpointFeed(checkpoint)
        self.lineage = NIOLockedValueBox(lineage)
        configs = StreamConfigs(defaultSchema: settings.defaultTableSchema)
    }

    /// Opens the storage, and creates its tables when there are none.
    ///
    /// - Parameters:
    ///   - settings: Where it is.
    ///   - use: What for.
    ///   - now: Tells the time for diagnostics.
    ///   - makeID: Makes random ids of 16 characters, different at every call.
    ///   - clock: Measures signs of life and pauses.
    ///   - logger: For trouble with the connection that other processes are followed on.
    /// - Returns: The storage.
    /// - Throws: ``BucketStorageError`` that says what to do when it cannot be used, ``PostgresError`` when the server cannot be
    ///   reached, or `CancellationError`.
    package static func open(
        _ settings: Settings,
        use: Use = .service,
        now: @escaping @Sendable () -> Date = { Date() },
        makeID: @escaping @Sendable () -> String = { RandomID.make() },
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) async throws -> PostgresBucketStorage {
        let new = PostgresStorageSchema(name: settings.schema)
        let pool = PostgresPool(
            settings.connection,
            maximumConnections: settings.maximumConnections,
            settings: new.sessionSettings
        )
        do {
            let (schema, checkpoint, lineage) = try await pool.withConnection { connection in
                try await prove(connection, settings.connection, new)
                try await prepare(new, use, connection)
                return try await connection.statements("reading the served stream", in: new) { db in
                    let checkpoint = try PostgresStreamTables(db, in: new).served()?.checkpoint
                    return (
                        PostgresStorageSchema(name: new.name, id: try new.identity(db)), checkpoint,
                        try checkpoint.flatMap { try StorageLineage.look(at: $0, after: nil, db).seen }
                    )
                }
            }
            return PostgresBucketStorage(
                settings,
                pool: pool,
                schema: schema,
                checkpoint: checkpoint,
                lineage: lineage,
                now: now,
                makeID: makeID,
                clock: clock,
                logger: logger
            )
        } catch {
            pool.close()
            throw error
        }
    }

    /// Makes sure that a connection has a session of the server for itself.
    ///
    /// - Throws: ``BucketStorageError`` with code `cannotOpen` that says what to do, or ``PostgresError``.
    static func prove(
        _ connection: PostgresConnection,
        _ string: PostgresConnectionString,
        _ schema: PostgresStorageSchema
    ) async throws {
        do {
            try await connection.proveSession(
                opening: { try await .open(string, settings: schema.sessionSettings) },
                "looking for a pooler"
            )
        } catch let error as PostgresError where error.code == .noSession {
            throw BucketStorageError(
                .cannotOpen,
                "The bucket storage in schema \(schema.name) cannot be used: \(PostgresError.noSessionMessage)",
                underlyingError: error
            )
        }
    }

    /// Makes sure that the server can have a storage, and that its tables have the version of this service.
    static func prepare(
        _ schema: PostgresStorageSchema,
        _ use: Use,
        _ connection: PostgresConnection
    ) async throws {
        try await checkServer(connection, schema)
        do {
            try await connection.statements("preparing the bucket storage", in: schema) { db in
                try schema.prepare(use == .service ? .migrating : .checking, db)
            }
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.insufficientPrivilege {
            throw refusal(of: schema, error)
        }
    }

    /// The error for a role that may not make or use the tables.
    static func refusal(of schema: PostgresStorageSchema, _ cause: PostgresError? = nil) -> BucketStorageError {
        BucketStorageError(
            .cannotOpen,
            """
            The role may not create or use the schema \(schema.name) of the bucket storage. As the owner of the \
            database: CREATE SCHEMA \(schema.name) AUTHORIZATION the_role.
            """,
            underlyingError: cause
        )
    }

    /// Checks that a server can have a storage.
    static func checkServer(_ connection: PostgresConnection, _ schema: PostgresStorageSchema) async throws {
        guard connection.serverVersion >= 140_000 else {
            throw BucketStorageError(
                .cannotOpen,
                """
                The bucket storage needs PostgreSQL 14 or later; this server has version \
                \(connection.serverVersion / 10_000).
                """
            )
        }
        let encoding = try await connection.statements("reading the encoding", in: schema) { db in
            try db.first("SELECT current_setting('server_encoding')") { try $0.text(0) }
        }
        guard encoding == "UTF8" else {
            throw BucketStorageError(
                .cannotOpen,
                """
                The bucket storage needs a database with the encoding UTF8, not \(encoding ?? "an unknown one"): \
                CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.
                """
            )
        }
    }

    package func close() throws {
        pool.close()
        let waiting = waiting.withLockedValue { waiting in
            defer { waiting = [:] }
            return waiting.values
        }
        for connection in waiting { connection.close() }
    }

    // MARK: Transactions

    /// Reads in a transaction, whose statements see the same.
    func read<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await pool.withConnection { connection in
                try await connection.statements(activity, in: schema) { db in try db.transaction(.read) { try body(db) }
                }
            }
        }
    }

    /// Reads with statements of which each sees what is committed when it begins, and which may run once more.
    func look<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await pool.withReadingConnection { connection in
                try await connection.statements(activity, in: schema, body)
            }
        }
    }

    /// Runs statements of which each sees what is committed when it begins; a single query needs no more.
    func ask<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await pool.withConnection { connection in try await connection.statements(activity, in: schema, body) }
        }
    }

    /// Reads at a checkpoint, and then looks whether what was read was there.
    ///
    /// In this order, and each statement for itself: the tables of a stream are dropped, which those who see an earlier state of the
    /// database notice, too. To them the stream is still served, and its buckets are empty.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - checkpoint: What is read at.
    ///   - body: Reads; runs the given statement after its last one, or together with it.
    ///   - check: Throws if the result of `body` may not be what belongs to the checkpoint.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` and `check` throw, or an error of the server.
    func read<Value: Sendable>(
        _ activity: String,
        at checkpoint: StorageCheckpoint,
        _ body: @escaping @Sendable (PostgresStatements, _ last: PostgresStatements.Statement) throws -> Value,
        check: @escaping @Sendable (PostgresStreamView, PostgresStatements) throws -> Void
    ) async throws -> Value {
        try await look(activity) { db in
            var compacted: Int64?
            let value = try body(db, PostgresStreamView.query(at: checkpoint, db) { compacted = $0 })
            try check(try PostgresStreamView(compacted: compacted, at: checkpoint), db)
            return value
        }
    }

    /// Writes in a transaction.
    func write<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await inSession {
            try await PostgresError.repeatingConflicts {
                try await pool.withConnection { connection in
                    try await connection.statements(activity, in: schema) { db in try db.transaction { try body(db) } }
                }
            }
        }
    }

    // MARK: Sessions

    /// Runs something that writes, unless connections have been found to have no sessions.
    ///
    /// Then it is looked for sessions first: the pooler may have been changed back.
    ///
    /// - Throws: ``PostgresError`` with code `noSession`, or what `body` throws.
    func inSession<Value>(_ body: () async throws -> Value) async throws -> Value {
        if hasNoSessions.withLockedValue({ $0 }) { try await proveSessions() }
        do {
            return try await body()
        } catch let error as PostgresError where error.code == .noSession {
            didLoseSessions()
            throw error
        }
    }

    /// Remembers that connections have no sessions.
    func didLoseSessions() {
        hasNoSessions.withLockedValue { $0 = true }
        pool.dropIdle()
    }

    private func proveSessions() async throws {
        func open() async throws -> PostgresConnection {
            try await .open(settings.connection, settings: schema.sessionSettings)
        }
        let connection = try await open()
        defer { connection.close() }
        try await connection.proveSession(opening: open, "looking for a pooler")
        // What was kept has no session that it knows.
        pool.dropIdle()
        hasNoSessions.withLockedValue { $0 = false }
    }

    /// Checks that no other connection gets into the session of one that waits.
    ///
    /// - Parameter process: The process of the server that the connection has.
    /// - Throws: ``PostgresError`` with code `noSession`, or an error of the server.
    func checkOthers(than process: Int64) async throws {
        try await inSession {
            let activity = "looking for a pooler"
            let other = try await ask(activity) { db in try db.first("SELECT pg_backend_pid()") { try $0.integer(0) } }
            if other == process { throw PostgresError.noSession(activity) }
        }
    }
}

package import Foundation
package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncServiceCore

/// Bucket storage in a schema of a PostgreSQL database, for any number of processes (docs/postgres-storage.md).
///
/// Each call is a transaction of its own on a connection of a pool; a writer has a connection to itself, which holds its lease.
/// ``PostgresStorageSchema`` lists the tables.
package final class PostgresBucketStorage: Sendable {
    /// Where the storage is, and how it is used.
    package struct Settings: Sendable {
        /// How to connect: directly to the primary, not through a pooler of transactions.
        package var connection: PostgresConnectionString
        /// The schema of its tables.
        package var schema = PostgresBucketStorage.defaultSchema
        /// The most connections for reading; writers have their own.
        package var maximumConnections = 8
        /// What the names of slots begin with.
        package var slotPrefix = "powersync_"
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

    /// The schema that the tables are in if nobody says otherwise.
    package static let defaultSchema = "powersync_storage"

    let settings: Settings
    let schema: PostgresStorageSchema
    let pool: PostgresPool
    /// The id of the storage, whose streams and names are kept in memory.
    let identity: String?
    /// What this process calls itself when it tells others something.
    let processID = RandomID.make()
    /// The newest checkpoint of the active stream that this process knows of.
    let feed: CheckpointFeed
    /// Tells the time for diagnostics.
    let now: @Sendable () -> Date
    /// Makes ids of source tables and names of slots.
    let makeID: @Sendable () -> String
    /// Measures signs of life and pauses.
    let clock: any Clock<Duration>
    let logger: Logger
    /// Connections of those who wait for a lease, and ask for it every second.
    let waiting = NIOLockedValueBox<[ReplicationStreamID: PostgresConnection]>([:])
    /// Names that operations of a stream repeat, by their numbers; none that only a transaction has which may be lost.
    let names = NIOLockedValueBox<[ReplicationStreamID: [Int64: [UInt8]]]>([:])
    let configs: StreamConfigs

    private init(
        _ settings: Settings,
        pool: PostgresPool,
        schema: PostgresStorageSchema,
        identity: String?,
        checkpoint: StorageCheckpoint?,
        now: @escaping @Sendable () -> Date,
        makeID: @escaping @Sendable () -> String,
        clock: any Clock<Duration>,
        logger: Logger
    ) {
        self.settings = settings
        self.schema = schema
        self.pool = pool
        self.identity = identity
        self.now = now
        self.makeID = makeID
        self.clock = clock
        self.logger = logger
        feed = CheckpointFeed(checkpoint)
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
        let schema = PostgresStorageSchema(name: settings.schema)
        let pool = PostgresPool(
            settings.connection,
            maximumConnections: settings.maximumConnections,
            settings: schema.sessionSettings
        )
        do {
            let (identity, checkpoint) = try await pool.withConnection { connection in
                try await prepare(schema, use, connection)
                return try await connection.statements("reading the served stream") { db in
                    (try schema.identity(db), try StreamRecord.served(db)?.checkpoint)
                }
            }
            return PostgresBucketStorage(
                settings,
                pool: pool,
                schema: schema,
                identity: identity,
                checkpoint: checkpoint,
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

    /// Makes sure that the server can have a storage, and that its tables have the version of this service.
    static func prepare(
        _ schema: PostgresStorageSchema,
        _ use: Use,
        _ connection: PostgresConnection
    ) async throws {
        try await checkServer(connection)
        do {
            try await connection.statements("preparing the bucket storage") { db in
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
    static func checkServer(_ connection: PostgresConnection) async throws {
        guard connection.serverVersion >= 140_000 else {
            throw BucketStorageError(
                .cannotOpen,
                """
                The bucket storage needs PostgreSQL 14 or later; this server has version \
                \(connection.serverVersion / 10_000).
                """
            )
        }
        let encoding = try await connection.statements("reading the encoding") { db in
            try db.first("SELECT current_setting('server_encoding')") { $0.text(0) ?? "" }
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
                try await connection.statements(activity) { db in try db.transaction(.read) { try body(db) } }
            }
        }
    }

    /// Runs statements of which each sees what is committed when it begins; a single query needs no more.
    func ask<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await pool.withConnection { connection in try await connection.statements(activity, body) }
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
    ///   - body: Reads.
    ///   - check: Throws if the result of `body` may not be what belongs to the checkpoint.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` and `check` throw, or an error of the server.
    func read<Value: Sendable>(
        _ activity: String,
        at checkpoint: StorageCheckpoint,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value,
        check: @escaping @Sendable (PostgresStreamView, PostgresStatements) throws -> Void
    ) async throws -> Value {
        try await ask(activity) { db in
            let value = try body(db)
            try check(try PostgresStreamView(db, at: checkpoint), db)
            return value
        }
    }

    /// Writes in a transaction.
    func write<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await pool.withConnection { connection in
                try await connection.statements(activity) { db in try db.transaction { try body(db) } }
            }
        }
    }
}

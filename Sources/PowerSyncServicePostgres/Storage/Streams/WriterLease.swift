import PowerSyncServiceCore

/// The right to write a stream, which one process has at a time (docs/postgres-storage.md "One writer").
///
/// It is a lock of the session that all transactions of the writer run in: a writer that has lost the session has lost the lock, and cannot
/// commit. When the process is killed, the server frees the lock with the session. Each transaction also looks whether it is in that
/// session, and compares an epoch that every new owner of the lock raises, should something between process and server have given
/// the session to another client.
package final class WriterLease: Sendable {
    /// How often the session shows that its process is alive.
    static let sign = Duration.seconds(5)
    /// How long a session may show nothing before others end it.
    struct Patience: Sendable {
        var seconds = 30
    }

    private let connection: PostgresConnection
    private let schema: PostgresStorageSchema
    private let streamID: ReplicationStreamID
    private let taken: Taken

    /// What was found when the lock was taken.
    private struct Taken {
        var epoch: Int64
        /// The process of the server that has the lock.
        var process: Int64
    }

    private init(
        _ connection: PostgresConnection,
        _ schema: PostgresStorageSchema,
        _ streamID: ReplicationStreamID,
        _ taken: Taken
    ) {
        self.connection = connection
        self.schema = schema
        self.streamID = streamID
        self.taken = taken
    }

    /// Takes the lease on a connection of its own, which the caller closes if that fails.
    ///
    /// - Throws: ``BucketStorageError`` with code `inUse` when another process has it, `unknownStream` when there is no such
    ///   stream, or it is not replicated any more.
    static func take(
        _ streamID: ReplicationStreamID,
        _ schema: PostgresStorageSchema,
        on connection: PostgresConnection,
        _ patience: Patience = Patience()
    ) async throws -> WriterLease {
        let key = schema.writerKey(streamID)
        let taken = try await connection.statements("taking the lease of a stream", in: schema) { db in
            let record = try PostgresStreamTables(db, in: schema).record(of: streamID)
            guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
            var taken = try take(streamID, key, db)
            if taken == nil, try endSilentWriter(key, patience, db) { taken = try take(streamID, key, db) }
            guard let taken else {
                throw BucketStorageError(
                    .inUse,
                    "Replication stream \(streamID) is written by another process, or another task."
                )
            }
            return taken
        }
        return WriterLease(connection, schema, streamID, taken)
    }

    /// Takes the lock in the session that was opened, and raises the epoch.
    ///
    /// - Returns: `nil` when another session has the lock.
    private static func take(_ stream: ReplicationStreamID, _ key: String, _ db: PostgresStatements) throws -> Taken? {
        try db.transaction {
            // The session would be given it once more.
            guard try !db.hasLock(key) else { throw PostgresError.noSession("taking the lease of a stream") }
            guard try tryLock(key, db) else { return nil }
            // The stream may have been replaced before the lock was taken.
            let taken = try db.first(
                """
                WITH taken AS (
                    UPDATE \(db.schema).replication_streams SET writer_epoch = writer_epoch + 1
                    WHERE id = $1 AND state IN ('PROCESSING', 'ACTIVE')
                    RETURNING id, writer_epoch, coalesce(last_checkpoint, 0) AS began_op
                )
                INSERT INTO \(db.schema).writers (stream, epoch, id, began_op)
                SELECT id, writer_epoch, gen_random_uuid(), began_op FROM taken
                RETURNING epoch, pg_backend_pid()
                """,
                [.integer(stream.rawValue)]
            ) { try Taken(epoch: $0.integer(0), process: $0.integer(1)) }
            guard let taken else { throw BucketStorageError.replaced(stream) }
            return taken
        }
    }

    /// Takes a lock of the session, if no other session has it.
    static func tryLock(_ key: String, _ db: PostgresStatements) throws -> Bool {
        try db.one("SELECT pg_try_advisory_lock(\(key))") { try $0.boolean(0) }
    }

    /// Ends the session of a writer that has not given a sign of life for long: its process is stopped, or its network gone.
    ///
    /// One that was stopped while it sent statements has a session that is `active`, and waits for the rest.
    ///
    /// - Returns: Whether there was one, which is gone now.
    private static func endSilentWriter(_ key: String, _ patience: Patience, _ db: PostgresStatements) throws -> Bool {
        let ended = try db.rows(
            """
            SELECT pg_terminate_backend(a.pid, 5000)
            FROM (SELECT \(key) AS number) AS key
                JOIN pg_locks AS l ON \(PostgresStatements.isLock)
                JOIN pg_stat_activity AS a ON a.pid = l.pid
            WHERE (a.state <> 'active' OR a.wait_event_type = 'Client')
                AND a.state_change < clock_timestamp() - interval '\(patience.seconds) s'
            """
        ) { try $0.boolean(0) }
        return ended.contains(true)
    }

    // MARK: Using

    /// Writes in a transaction.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - body: Gets the record of the stream, which no other session changes before the end.
    /// - Returns: The result of `body`.
    /// - Throws: ``BucketStorageError`` with code `leaseLost` when another process has taken over, `unknownStream` when the stream is
    ///   not replicated any more, or what `body` throws.
    @discardableResult
    func write<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements, StreamRecord) throws -> Value
    ) async throws -> Value {
        try await statements(activity) { [self] db in
            try db.transaction { try body(db, try record(locked: true, db)) }
        }
    }

    /// Runs statements in the session of the lease.
    ///
    /// They are one transaction, or only read: when the server ends them because of another transaction, they are repeated.
    func statements<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts { try await connection.statements(activity, in: schema, body) }
    }

    /// The record of the stream.
    ///
    /// - Throws: ``BucketStorageError`` with code `leaseLost` when another process has taken over, `unknownStream` when the stream is
    ///   not replicated any more: its tables may be gone.
    func record(locked: Bool, _ db: PostgresStatements) throws -> StreamRecord {
        var found: Found?
        try db.run(together: [reading(locked: locked, db) { found = $0 }])
        return try record(found)
    }

    /// What is stored of the stream.
    struct Found {
        fileprivate var record: StreamRecord
        fileprivate var epoch: Int64
    }

    /// The statement that reads what ``record(_:)`` looks at.
    func reading(
        locked: Bool,
        _ db: PostgresStatements,
        _ found: @escaping (Found) -> Void
    ) -> PostgresStatements.Statement {
        PostgresStreamTables(db, in: schema).reading(streamID, locked: locked) { found(Found(record: $0, epoch: $1)) }
    }

    /// The record of the stream, as ``record(locked:_:)``.
    func record(_ found: Found?) throws -> StreamRecord {
        guard let found else {
            throw BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(streamID).")
        }
        let (record, epoch) = (found.record, found.epoch)
        guard epoch == taken.epoch else {
            throw BucketStorageError(
                .leaseLost,
                "Another process has begun to write replication stream \(streamID); this one has stopped."
            )
        }
        guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
        return record
    }

    /// Shows that the process is alive, until the lease is lost.
    ///
    /// - Parameters:
    ///   - clock: Measures the time between signs of life.
    ///   - look: Looks each time whether the session is still that of the lease alone; gets the process of the server that has it.
    /// - Throws: Why the lease is lost, or `CancellationError`.
    func hold(_ clock: some Clock<Duration>, _ look: (_ process: Int64) async throws -> Void) async throws -> Never {
        while true {
            try await clock.sleep(for: Self.sign)
            try await statements("holding the lease of a stream") { [self] db in
                var place = PostgresStatements.Place()
                try db.run(together: [db.placeQuery { place = $0 }])
                try db.check(place)
                _ = try record(locked: false, db)
            }
            try await look(taken.process)
        }
    }

    /// Gives the lease back.
    ///
    /// Also in a cancelled task: the next writer need not wait for the end of the session. In another session, the locks of another client
    /// would be given back.
    package func release() async {
        await connection.finish("SELECT pg_advisory_unlock_all() WHERE \(connection.isOwnSession)")
    }
}

extension PostgresStatements {
    /// Whether a row `l` of `pg_locks` is the advisory lock with the key `key.number`.
    fileprivate static let isLock = """
        l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
            AND l.classid::bigint = (key.number >> 32) & 4294967295
            AND l.objid::bigint = key.number & 4294967295
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    /// Whether the session has an advisory lock already.
    fileprivate func hasLock(_ key: String) throws -> Bool {
        try first(
            """
            SELECT 1 FROM (SELECT \(key) AS number) AS key JOIN pg_locks AS l ON \(Self.isLock) AND l.pid = pg_backend_pid()
            """
        ) { _ in true } ?? false
    }
}

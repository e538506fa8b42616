import PowerSyncServiceCore

/// The right to write a stream, which one process has at a time (docs/postgres-storage.md "One writer").
///
/// It is a lock of the session that all transactions of the writer run in: who has lost the session has lost the lock, and cannot
/// commit. When the process is killed, the server frees the lock with the session. Each transaction also compares an epoch
/// that everybody raises who takes the lock, should something between process and server have given the session to
/// somebody else.
final class WriterLease: Sendable {
    /// How often the session shows that its process is alive.
    static let sign = Duration.seconds(5)
    /// How long a session may show nothing before others end it.
    struct Patience: Sendable {
        var seconds = 30
    }

    private let connection: PostgresConnection
    private let streamID: ReplicationStreamID
    private let epoch: Int64

    private init(_ connection: PostgresConnection, _ streamID: ReplicationStreamID, epoch: Int64) {
        self.connection = connection
        self.streamID = streamID
        self.epoch = epoch
    }

    /// Takes the lease on a connection of its own, which the caller closes if that fails.
    ///
    /// - Throws: ``BucketStorageError`` with code `inUse` when somebody else has it, `unknownStream` when there is no such
    ///   stream, or it is not replicated any more, `unsupportedVersion` when this service does not know the format of its data.
    static func take(
        _ streamID: ReplicationStreamID,
        _ schema: PostgresStorageSchema,
        on connection: PostgresConnection,
        _ patience: Patience = Patience()
    ) async throws -> WriterLease {
        let key = schema.writerKey(streamID)
        let epoch = try await connection.statements("taking the lease of a stream") { db in
            let record = try StreamRecord.find(streamID, db)
            guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
            guard record.isReadable else {
                throw BucketStorageError(
                    .unsupportedVersion,
                    "Replication stream \(streamID) was stored by a service of another version, in another format."
                )
            }
            var isTaken = try tryLock(key, db)
            if !isTaken, try endSilentWriter(key, patience, db) { isTaken = try tryLock(key, db) }
            guard isTaken else {
                throw BucketStorageError(
                    .inUse,
                    "[PSYNC_S1003] Replication stream \(streamID) is written by another process, or another task."
                )
            }
            // It may have been replaced before the lock was taken.
            let epoch = try db.first(
                """
                UPDATE streams SET writer_epoch = writer_epoch + 1 WHERE id = $1 AND state IN ('PROCESSING', 'ACTIVE')
                RETURNING writer_epoch
                """,
                [.integer(streamID.rawValue)]
            ) { $0.integer(0) }
            guard let epoch else { throw BucketStorageError.replaced(streamID) }
            return epoch
        }
        return WriterLease(connection, streamID, epoch: epoch)
    }

    /// Takes a lock of the session, if nobody has it.
    static func tryLock(_ key: String, _ db: PostgresStatements) throws -> Bool {
        try db.first("SELECT pg_try_advisory_lock(\(key))") { $0.boolean(0) } ?? false
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
                JOIN pg_locks AS l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                    AND l.classid::bigint = (key.number >> 32) & 4294967295
                    AND l.objid::bigint = key.number & 4294967295
                    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                JOIN pg_stat_activity AS a ON a.pid = l.pid
            WHERE (a.state <> 'active' OR a.wait_event_type = 'Client')
                AND a.state_change < clock_timestamp() - interval '\(patience.seconds) s'
            """
        ) { $0.boolean(0) }
        return ended.contains(true)
    }

    // MARK: Using

    /// Writes in a transaction.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - body: Gets the record of the stream, which nobody else changes before the end.
    /// - Returns: The result of `body`.
    /// - Throws: ``BucketStorageError`` with code `leaseLost` when somebody else has taken over, `unknownStream` when the stream is
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
        try await PostgresError.repeatingConflicts { try await connection.statements(activity, body) }
    }

    /// The record of the stream.
    ///
    /// - Throws: ``BucketStorageError`` with code `leaseLost` when somebody else has taken over, `unknownStream` when the stream is
    ///   not replicated any more: its tables may be gone.
    func record(locked: Bool, _ db: PostgresStatements) throws -> StreamRecord {
        let (record, epoch) = try StreamRecord.findWithEpoch(streamID, locked: locked, db)
        guard epoch == self.epoch else {
            throw BucketStorageError(
                .leaseLost,
                "[PSYNC_S1003] Another process has begun to write replication stream \(streamID); this one has stopped."
            )
        }
        guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
        return record
    }

    /// Shows that the process is alive, until the lease is lost.
    ///
    /// - Throws: Why the lease is lost, or `CancellationError`.
    func hold(_ clock: some Clock<Duration>) async throws -> Never {
        while true {
            try await clock.sleep(for: Self.sign)
            try await statements("holding the lease of a stream") { [self] db in _ = try record(locked: false, db) }
        }
    }

    /// Gives the lease back.
    ///
    /// Also in a cancelled task: the next writer need not wait for the end of the session.
    func release() async {
        await connection.finish("SELECT pg_advisory_unlock_all()")
    }
}

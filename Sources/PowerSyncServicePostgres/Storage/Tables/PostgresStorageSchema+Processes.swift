import PowerSyncServiceCore

/// How processes that share the storage take turns, and tell each other (docs/postgres-storage.md "Several processes").
extension PostgresStorageSchema {
    /// An expression for the key of an advisory lock of this storage.
    func lockKey(_ purpose: String) -> String {
        "hashtextextended(\(PostgresText.literal("powersync \(name) \(purpose)")), 0)"
    }

    /// The key of the lock that is the lease of a stream.
    func writerKey(_ stream: ReplicationStreamID) -> String { lockKey("writer \(stream)") }

    /// Locks the set of streams and their states until the end of the transaction.
    ///
    /// Taken before the row of any stream is locked: those who wait for it hold nothing that its owner may need.
    func lockStreams(_ db: PostgresStatements) throws {
        try db.run("SELECT pg_advisory_xact_lock(\(lockKey("streams")))")
    }

    /// Takes a shared lock that keeps every process from publishing a checkpoint until the end of the transaction.
    ///
    /// Its owner waits for no process that may wait for it. It is not a lock of the stream's row: sharers of that are let in before
    /// a writer that waits to change the row, which may be for ever.
    var keepingPublished: PostgresStatements.Statement {
        PostgresStatements.Statement(sql: "SELECT pg_advisory_xact_lock_shared(\(lockKey("publication")))")
    }

    /// Waits for those who have ``keepingPublished``, before a checkpoint is published.
    ///
    /// The last lock that a transaction takes.
    var publishing: PostgresStatements.Statement {
        PostgresStatements.Statement(sql: "SELECT pg_advisory_xact_lock(\(lockKey("publication")))")
    }

    /// What processes listen to.
    var channel: String { "powersync_\(name)" }

    /// Tells all processes, at the commit, that checkpoints or streams are not what they were.
    func notify(_ db: PostgresStatements) throws { try db.run(together: [notification()]) }

    /// The statement of ``notify(_:)``.
    func notification(_ news: StorageNotification = .changed) -> PostgresStatements.Statement {
        PostgresStatements.Statement(sql: "SELECT pg_notify($1, $2)", arguments: [.text(channel), .text(news.text)])
    }
}

import PowerSyncServiceCore

/// How processes that share the storage take turns, and tell each other (docs/postgres-storage.md "Several processes").
extension PostgresStorageSchema {
    /// An expression for the key of an advisory lock of this storage.
    func lockKey(_ purpose: String) -> String {
        "hashtextextended(\(PostgresTable.literal("powersync \(name) \(purpose)")), 0)"
    }

    /// The key of the lock that is the lease of a stream.
    func writerKey(_ stream: ReplicationStreamID) -> String { lockKey("writer \(stream)") }

    /// Lets nobody else change which streams there are and which state they have, before the end of the transaction.
    ///
    /// Taken before the row of any stream is locked: those who wait for it hold nothing that its owner may need.
    func lockStreams(_ db: PostgresStatements) throws {
        try db.run("SELECT pg_advisory_xact_lock(\(lockKey("streams")))")
    }

    /// What processes listen to.
    var channel: String { "powersync_\(name)" }

    /// Tells all processes, at the commit, that checkpoints or streams are not what they were.
    func notify(_ db: PostgresStatements) throws { try db.run(together: [notification]) }

    /// The statement of ``notify(_:)``.
    var notification: PostgresStatements.Statement {
        PostgresStatements.Statement(sql: "SELECT pg_notify($1, '')", arguments: [.text(channel)])
    }
}

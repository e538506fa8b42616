package import GRDB

// Accesses that end early only while they wait for a connection; see DatabaseTurn. On a server tasks are cancelled all the time:
// clients leave, streams are replaced. What has begun is carried out, so it should be short.

extension DatabaseReader {
    /// Reads in one state of the database, and is not interrupted by a cancellation.
    ///
    /// - Parameter value: Reads; it should be short.
    /// - Returns: The result of `value`.
    /// - Throws: `CancellationError` when the task is cancelled before `value` begins; what `value` throws.
    package func uncancelledRead<Result: Sendable>(
        _ value: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await DatabaseTurn.take { handler in
            asyncRead(handler)
        } _: { db in
            try value(db.get())
        }
    }

    /// Reads outside of any transaction, where each statement sees the newest committed state, and is not interrupted by a cancellation.
    ///
    /// A connection that also writes, as the only one of a database in memory does, is read-only meanwhile.
    ///
    /// - Parameter value: Reads; it should be short.
    /// - Returns: The result of `value`.
    /// - Throws: `CancellationError` when the task is cancelled before `value` begins; what `value` throws; why no connection can be opened.
    package func uncancelledReadWithoutTransaction<Result: Sendable>(
        _ value: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await DatabaseTurn.take { handler in
            asyncUnsafeRead(handler)
        } _: { db in
            let db = try db.get()
            if db.configuration.readonly { return try value(db) }
            return try db.readOnly { try value(db) }
        }
    }
}

extension DatabaseWriter {
    /// Writes in a transaction, and is not interrupted by a cancellation.
    ///
    /// - Parameter updates: Writes; it should be short.
    /// - Returns: The result of `updates`.
    /// - Throws: `CancellationError` when the task is cancelled before `updates` begins; what `updates` throws.
    package func uncancelledWrite<Result: Sendable>(
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await uncancelledWriteWithoutTransaction { db in try db.transaction(.immediate, updates) }
    }

    /// Writes outside of any transaction, and is not interrupted by a cancellation.
    ///
    /// - Parameter updates: Writes; it should be short.
    /// - Returns: The result of `updates`.
    /// - Throws: `CancellationError` when the task is cancelled before `updates` begins; what `updates` throws.
    package func uncancelledWriteWithoutTransaction<Result: Sendable>(
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await DatabaseTurn.take { handler in
            asyncWriteWithoutTransaction { db in handler(.success(db)) }
        } _: { db in
            try updates(db.get())
        }
    }
}

import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

// Accesses of the SDK itself. SQLite errors come out as `PowerSyncError`, everything else as it was thrown.
extension LocalDatabase {
    /// Runs `body` in a transaction on the writing connection.
    ///
    /// The transaction is rolled back when `body` throws.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins.
    func write<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await writeWithoutTransaction { db in
            try db.transaction(.immediate, body)
        }
    }

    /// As ``write(_:)``, and copies what was written from the log to the file in a turn of its own.
    ///
    /// Writes of the app that have waited for a large transaction do not wait for its copy, too. Returns when it was made, so
    /// that the next transaction is behind the waiters for the copy.
    func writeMuch<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        // A copy beside a pool of the app would compete with its writer.
        guard connections.poolCommits == nil else { return try await write(body) }
        let writer = try await writer()
        let isCopyDue = NIOLockedValueBox(false)
        let result = try await write { db in
            try WriteAheadLog.postponeCopy(db) { isCopyDue.withLockedValue { $0 = true } }
            return try body(db)
        }
        if isCopyDue.withLockedValue({ $0 }) { await Self.copyLog(writer) }
        return result
    }

    /// Also for a task that was cancelled or a database that was closed: until then no commit of the app's pool copies anything.
    private static func copyLog(_ writer: any DatabaseWriter) async {
        await withCheckedContinuation { continuation in
            writer.asyncWriteWithoutTransaction { db in
                WriteAheadLog.copy(db)
                continuation.resume()
            }
        }
    }

    /// Runs `body` alone on the writing connection.
    func writeWithoutTransaction<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let writer = try await writer()
        return try await wrappingErrors {
            try await connections.write(to: writer) { db in try self.using { try body(db) } }
        }
    }

    /// Runs `body` on a reading connection; each statement sees the newest committed state.
    func read<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let writer = try await writer()
        return try await wrappingErrors {
            try await writer.uncancelledReadWithoutTransaction { db in Transfer(try self.using { try body(db) }) }.value
        }
    }

    /// Runs `body` on a reading connection, on one state of the database.
    func readTransaction<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await read { db in
            try db.transaction(.deferred, body)
        }
    }

    func wrappingErrors<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await AppCall.whileWorking(body)
        } catch {
            throw PowerSyncError.wrapping(error)
        }
    }
}

// Accesses of the app. What callbacks throw comes out unchanged.
extension LocalDatabase {
    /// Runs a callback alone on the writing connection, outside a transaction.
    func writeLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        let writer = try await writer()
        return try await AppCall.whileWorking {
            if case .pool(let pool, _) = connections.source {
                return try await pool.writeUnlessCancelled { [logger] lease in
                    Transfer(
                        try self.using {
                            try LeasedConnection.use(lease, logger: logger, kinds: self.kinds, callback)
                        }
                    )
                }.value
            }
            return try await writer.uncancelledWriteWithoutTransaction { [logger] db in
                Transfer(try self.using { try LocalConnection.use(db, logger: logger, kinds: self.kinds, callback) })
            }.value
        }
    }

    /// Runs a callback on a reading connection, outside a transaction.
    func readLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        if case .pool(let pool, _) = connections.source {
            _ = try await writer()
            return try await AppCall.whileWorking {
                try await pool.read { [logger] lease in
                    Transfer(
                        try self.using {
                            try LeasedConnection.use(lease, logger: logger, kinds: self.kinds, callback)
                        }
                    )
                }.value
            }
        }
        return try await observingReadLock(callback)
    }

    /// Runs a callback on a reading connection of GRDB, which knows what statements read.
    func observingReadLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        let writer = try await writer()
        // A connection that cannot be opened is an error of ours, and what the callback throws stays as it is.
        return try await wrappingErrors {
            try await writer.uncancelledReadWithoutTransaction { [logger] db in
                Transfer(
                    Result {
                        try self.using {
                            try LocalConnection.use(db, logger: logger, kinds: self.kinds, callback)
                        }
                    }
                )
            }
        }.value.get()
    }
}

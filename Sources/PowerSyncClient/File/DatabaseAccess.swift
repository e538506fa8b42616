import Dispatch
import GRDB
import PowerSyncSQLite

/// Synchronous work on a connection, awaited by a task.
///
/// The task can be cancelled while the work waits for the connection. Once begun, it runs to its end; see
/// `DatabaseTurn`. A connection that cannot be opened is a ``PowerSyncError``.
enum DatabaseAccess {
    /// Runs `body` alone on the writing connection.
    static func write<T>(
        to writer: any DatabaseWriter,
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await take { handler in
            writer.asyncWriteWithoutTransaction { db in handler(.success(db)) }
        } body: { db in
            try body(db)
        }
    }

    /// Runs `body` on a reading connection.
    ///
    /// In memory, where there is only one, it is made read-only meanwhile.
    static func read<T>(
        from writer: any DatabaseWriter,
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await take { handler in
            writer.asyncUnsafeRead(handler)
        } body: { db in
            if db.configuration.readonly { return try body(db) }
            return try db.readOnly { try body(db) }
        }
    }

    /// Waits for running accesses and closes the connections.
    ///
    /// GRDB blocks meanwhile, so this happens on a thread of its own.
    static func close(_ writer: any DatabaseWriter) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try writer.close() })
            }
        }
    }

    private static func take<T>(
        _ ask: (@escaping @Sendable (Result<Database, any Error>) -> Void) -> Void,
        body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await DatabaseTurn.take(ask) { db in
            // What the body throws may be the app's, and stays as it is.
            let db = try PowerSyncError.wrappingErrors { try db.get() }
            return Transfer(try body(db))
        }.value
    }
}

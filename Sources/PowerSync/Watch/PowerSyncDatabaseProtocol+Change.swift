public import Foundation

extension PowerSyncDatabaseProtocol {
    /// Tells which views have changed.
    ///
    /// ```swift
    /// for try await changed in database.onChange(tables: ["lists", "todos"]) {
    ///     if changed.contains("todos") { try await rebuildIndex() }
    /// }
    /// ```
    ///
    /// Every commit counts: local writes, checkpoints of the service, other instances of this database, a new schema, and
    /// ``disconnectAndClear(clearLocal:soft:)``. When it is not known which tables were written, all of them count.
    /// Changes add up from the call on, also while the consumer is busy.
    ///
    /// The stream finishes when the database is closed or the task is cancelled. It is for one consumer.
    ///
    /// - Parameters:
    ///   - tables: The names of views, or of tables that the app created itself.
    ///   - throttle: How long changes are collected after the first one, in seconds.
    ///   - triggerImmediately: Whether the first element comes at once; it is the empty set.
    /// - Returns: The views that have changed since the element before. The stream throws
    ///   ``PowerSyncError/operationFailed(message:underlyingError:)`` for a database that is not one of ours.
    public func onChange(
        tables: Set<String>,
        throttle: TimeInterval = DEFAULT_WATCH_THROTTLE,
        triggerImmediately: Bool = true
    ) -> AsyncThrowingStream<Set<String>, any Error> {
        let watch = Result {
            TableWatch(
                try localDatabase(for: "onChange"),
                views: tables,
                throttle: ConnectOptions.duration(seconds: throttle),
                triggerImmediately: triggerImmediately
            )
        }
        return AsyncThrowingStream {
            do {
                return try await watch.get().next()
            } catch is CancellationError {
                return nil
            }
        }
    }

    /// The local database behind a database of ours.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for a database of another type.
    func localDatabase(for operation: String) throws -> LocalDatabase {
        guard let database = self as? SyncedDatabase else {
            throw PowerSyncError.operationFailed(
                message: "\(operation) is not supported by a database of type \(type(of: self))"
            )
        }
        return database.local
    }
}

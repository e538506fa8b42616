import NIOConcurrencyHelpers

/// SQLite connections of an app, for ``OpenedPowerSyncDatabase(schema:pool:identifier:logger:)``.
///
/// One connection writes, any number of others read. Apps on GRDB use `PowerSyncGRDB` instead.
public protocol SQLiteConnectionPoolProtocol: Sendable {
    /// The names of the tables that each committed write has changed, as SQLite's update hook reports them.
    ///
    /// Watches and the upload loop follow these names, so they should come soon after the commit. Each access is a
    /// subscription of its own.
    var tableUpdates: AsyncStream<Set<String>> { get }

    /// Runs a callback on a connection that reads.
    ///
    /// - Throws: What the callback throws, and `CancellationError` when the task is cancelled while it waits.
    func read<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T

    /// Runs a callback alone on the connection that writes.
    ///
    /// - Throws: What the callback throws, and `CancellationError` when the task is cancelled while it waits.
    func write<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T

    /// Runs a callback while no other caller uses any connection.
    ///
    /// - Throws: What the callback throws, and `CancellationError` when the task is cancelled while it waits.
    func withAllConnections<T: Sendable>(
        onConnection:
            @Sendable @escaping (
                _ writer: any SQLiteConnectionLease,
                _ readers: [any SQLiteConnectionLease]
            ) throws -> T
    ) async throws -> T

    /// Waits for running callbacks and closes the connections.
    func close() async throws
}

/// A SQLite connection that a callback owns while it runs.
public protocol SQLiteConnectionLease {
    /// The `sqlite3 *` of the connection.
    var pointer: OpaquePointer { borrowing get }

    /// Runs the statements of a text to their ends, one after the other.
    ///
    /// The default implementation uses ``pointer``.
    ///
    /// - Parameters:
    ///   - sql: The statements.
    ///   - parameters: Values for `?`; `nil` is NULL. Each statement takes as many as it has parameters.
    /// - Returns: The number of changed rows, also those of a view.
    /// - Throws: ``PowerSyncError``.
    func execute(sql: String, parameters: [PowerSyncDataType?]) throws -> Int64

    /// Runs a callback that reads the rows of a query one by one.
    ///
    /// The default implementation uses ``pointer``.
    ///
    /// - Parameters:
    ///   - sql: The query, one statement.
    ///   - parameters: Values for `?`, as many as there are parameters; `nil` is NULL.
    ///   - callback: Gets an iterator that is valid until it returns.
    /// - Returns: What the callback returns.
    /// - Throws: ``PowerSyncError``, or what the callback throws.
    func withIterator<T>(
        sql: String,
        parameters: [PowerSyncDataType?],
        callback: (any SQLiteStatementIteratorProtocol) throws -> T
    ) throws -> T
}

/// The rows of a query, one by one.
public protocol SQLiteStatementIteratorProtocol {
    /// Steps to the next row and maps it.
    ///
    /// - Parameter callback: Gets the row, which is valid until it returns.
    /// - Returns: `nil` after the last row.
    /// - Throws: ``PowerSyncError``, or what the callback throws.
    func next<T>(callback: (_ cursor: any SqlCursor) throws -> T) throws -> T?
}

extension SQLiteConnectionPoolProtocol {
    /// Writes, unless the task is cancelled while other writers have the pool's connection.
    ///
    /// - Parameter body: Writes; it is not interrupted by a cancellation.
    /// - Returns: The result of `body`.
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins; what `body` or the pool throws.
    func writeUnlessCancelled<Value: Sendable>(
        _ body: @Sendable @escaping (any SQLiteConnectionLease) throws -> Value
    ) async throws -> Value {
        // The pool calls on a thread of its choice, where `Task.isCancelled` says nothing.
        let isCancelled = NIOLockedValueBox(false)
        return try await withTaskCancellationHandler {
            try await write { lease in
                if isCancelled.withLockedValue({ $0 }) { throw CancellationError() }
                return try body(lease)
            }
        } onCancel: {
            isCancelled.withLockedValue { $0 = true }
        }
    }
}

import PowerSyncSQLite

/// Reads, writes and watches on the local database.
///
/// ```swift
/// let names = try await database.getAll(
///     sql: "SELECT name FROM lists WHERE owner_id = ? ORDER BY name",
///     parameters: [owner]
/// ) { cursor in try cursor.getString(name: "name") }
/// ```
///
/// Callbacks are synchronous and run on a database thread, never on the caller's actor. A task that waits for a
/// connection can be cancelled (`CancellationError`, nothing ran); a callback that has begun runs to its end. Errors of
/// callbacks come out unchanged.
public protocol Queries {
    /// Watches a query.
    ///
    /// The first element is the current result, even an empty one. A new result follows each committed change to the
    /// tables that the query reads; results between two reads of the consumer are skipped, the latest one never is.
    /// An error ends the stream, closing the database finishes it.
    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error>

    /// Runs a callback with exclusive access to the writing connection, outside a transaction.
    ///
    /// Each statement commits on its own. What was committed before the callback throws stays committed.
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R

    /// Runs a callback with a reading connection, outside a transaction. Up to four run at the same time.
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R
}

extension Queries {
    /// Runs a callback in a transaction on the writing connection.
    ///
    /// The transaction is rolled back when the callback or the commit throws.
    ///
    /// - Returns: What the callback returns.
    /// - Throws: What the callback throws, unchanged, or ``PowerSyncError``.
    public func writeTransaction<R>(
        callback: @Sendable @escaping (any Transaction) throws -> R
    ) async throws -> R {
        try await writeLock { context in
            try TransactionContext.write(on: context, callback: callback)
        }
    }

    /// Runs a callback in a read-only transaction: it sees the database as it was when the transaction started.
    ///
    /// - Returns: What the callback returns.
    /// - Throws: What the callback throws, unchanged, or ``PowerSyncError``.
    public func readTransaction<R: Sendable>(
        callback: @Sendable @escaping (any Transaction) throws -> R
    ) async throws -> R {
        try await readLock { context in
            try TransactionContext.read(on: context, callback: callback)
        }
    }

    /// Runs a statement on the writing connection, or several, one after the other.
    ///
    /// Of an `INSERT`, `UPDATE` or `DELETE` that fails nothing remains, in whatever way it fails. Nor does anything of several
    /// statements when one of them fails, unless one is `PRAGMA`, `VACUUM`, `ATTACH`, `DETACH` or about a transaction: then each is
    /// committed by itself.
    ///
    /// ```swift
    /// let count = try await database.execute(sql: "DELETE FROM lists WHERE owner_id = ?", parameters: [owner])
    /// ```
    ///
    /// - Parameters:
    ///   - sql: The statements, with `;` between them.
    ///   - parameters: Values for `?`, as many as there are parameters. Of several statements, each takes as many as it has, in order.
    /// - Returns: The number of changed rows, also of a view, without those that triggers of the app change; 0 for statements of
    ///   other kinds.
    /// - Throws: ``PowerSyncError``.
    @discardableResult
    public func execute(sql: String, parameters: [(any Sendable)?]?) async throws -> Int64 {
        let isWhole = SQLText.isAllOrNothing(sql)
        return try await writeLock { context in
            guard isWhole else { return try context.execute(sql: sql, parameters: parameters) }
            // The triggers of views fail with FAIL, which keeps the rows that come before.
            return try TransactionContext.whole(on: context) { try $0.execute(sql: sql, parameters: parameters) }
        }
    }

    /// Reads the first row.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there is no row, other
    ///   ``PowerSyncError``s, or what the mapper throws.
    public func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType {
        try await readLock { context in
            try context.get(sql: sql, parameters: parameters, mapper: mapper)
        }
    }

    /// Reads all rows.
    ///
    /// - Throws: ``PowerSyncError``, or what the mapper throws.
    public func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> [RowType] {
        try await readLock { context in
            try context.getAll(sql: sql, parameters: parameters, mapper: mapper)
        }
    }

    /// Reads the first row.
    ///
    /// - Returns: `nil` when there is no row.
    /// - Throws: ``PowerSyncError``, or what the mapper throws.
    public func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType? {
        try await readLock { context in
            try context.getOptional(sql: sql, parameters: parameters, mapper: mapper)
        }
    }

    /// Runs statements without parameters on the writing connection.
    @discardableResult
    public func execute(_ sql: String) async throws -> Int64 {
        try await execute(sql: sql, parameters: [])
    }

    /// Reads the first row of a query without parameters.
    public func get<RowType>(
        _ sql: String,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType {
        try await get(sql: sql, parameters: [], mapper: mapper)
    }

    /// Reads all rows of a query without parameters.
    public func getAll<RowType>(
        _ sql: String,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> [RowType] {
        try await getAll(sql: sql, parameters: [], mapper: mapper)
    }

    /// Reads the first row of a query without parameters, `nil` when there is none.
    public func getOptional<RowType>(
        _ sql: String,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType? {
        try await getOptional(sql: sql, parameters: [], mapper: mapper)
    }

    /// Watches the first row of a query, with the default throttle.
    ///
    /// ```swift
    /// let list = try database.watchOptional(sql: "SELECT name FROM lists WHERE id = ?", parameters: [id]) {
    ///     try $0.getString(name: "name")
    /// }
    /// for try await name in list { title = name ?? "(deleted)" }
    /// ```
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - mapper: Makes a value of a row.
    /// - Returns: The first row of each result, `nil` while there is none. Results come as those of ``watch(options:)``.
    /// - Throws: What ``watch(options:)`` throws.
    public func watchOptional<RowType: Sendable>(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<RowType?, any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: parameters, mapper: mapper)).firstRows()
    }

    /// Watches a query with the default throttle.
    public func watch<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: parameters, mapper: mapper))
    }

    /// Watches a query without parameters, with the default throttle.
    public func watch<RowType>(
        _ sql: String,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: [], mapper: mapper))
    }
}

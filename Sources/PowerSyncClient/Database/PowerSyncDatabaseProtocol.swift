public import Foundation

/// A local database that a sync client keeps up to date.
///
/// Create one with ``PowerSyncDatabase(schema:dbFilename:logger:initialStatements:)``. Everything but ``connect(connector:options:)``
/// works without a network.
///
/// An app can wrap a database in a type of its own that forwards these calls. Requirements that have a default implementation
/// may be left out: the default finds the database of this SDK whose ``currentStatus`` the wrapper forwards. Of a type with
/// another status, such as a fake for tests, these calls throw, and ``invalidateCredentials()`` does nothing.
public protocol PowerSyncDatabaseProtocol: Queries, Sendable {
    /// The status of the sync client. A live object: its properties always read the newest state.
    var currentStatus: any SyncStatus { get }

    /// The logger that the database was created with.
    var logger: any LoggerProtocol { get }

    /// Waits until a complete checkpoint has been applied; returns at once when there was one before.
    ///
    /// - Throws: `CancellationError`, or ``PowerSyncError`` when the database is closed.
    func waitForFirstSync() async throws

    /// Replaces the schema: views, triggers and indexes. Synced rows stay readable under the new schema.
    ///
    /// Rows of a synced table that the new schema does not have are kept, and are there again with the table. Rows of a local-only
    /// table that the new schema does not have, or has as a synced one, are deleted: an older version of the app that is opened
    /// once in between removes what it does not know. Copy what must stay into a table that remains.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` while connected.
    func updateSchema(schema: any SchemaProtocol) async throws

    /// Waits until a checkpoint of this or a lower priority has been applied.
    ///
    /// - Parameter priority: 0 (highest) to 3.
    /// - Throws: `CancellationError`, or ``PowerSyncError`` when the database is closed.
    func waitForFirstSync(priority: Int32) async throws

    /// Starts syncing and returns, without waiting for the connection.
    ///
    /// A running sync is ended first. The sync outlives the calling task. Problems with the network or the credentials
    /// show in ``currentStatus``.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: `nil` means `ConnectOptions()`.
    /// - Throws: ``PowerSyncError`` when the database cannot be opened or is closed.
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws

    /// The version of the engine, as `major.minor.patch`.
    func getPowerSyncVersion() async throws -> String

    /// Ends the sync and waits for its end. Does nothing when not connected.
    ///
    /// Rows and local writes stay. When a user signs out, call ``disconnectAndClear()`` instead: the next user would see the rows and
    /// upload the writes.
    func disconnect() async throws

    /// Ends the sync and deletes the data of the user.
    ///
    /// - Parameters:
    ///   - clearLocal: Whether local-only tables are emptied as well.
    ///   - soft: Whether the synced history is kept, so that the same user signs in again quickly. Its rows are not visible.
    /// - Throws: ``PowerSyncError``. Nothing is deleted then.
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws

    /// A handle on a sync stream. Creating it has no effect.
    ///
    /// - Parameters:
    ///   - name: The name in the sync config.
    ///   - params: The stream's parameters. With the name they identify the stream.
    /// - Returns: The handle.
    func syncStream(name: String, params: JsonParam?) -> any SyncStream

    /// Ends the sync, waits for running queries and closes all connections. Later operations throw.
    ///
    /// Idempotent: a call during another one waits for the same end. Only while a ``SQLiteConnectionPoolProtocol`` of the app is being
    /// closed does it return at once, since that may call it.
    func close() async throws

    /// Closes the database and, if asked to, deletes its files.
    ///
    /// While another instance of this process has the file open, it is not deleted, and nothing is closed: close that one first, or
    /// let go of it. The files of a database that is closed already can be deleted as well.
    ///
    /// - Parameter deleteDatabase: Whether to delete the database file and its companions.
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when another instance has the file open, or a file
    ///   cannot be deleted.
    func close(deleteDatabase: Bool) async throws

    // MARK: Requirements with a default

    /// The oldest writes of the upload queue, across transactions.
    ///
    /// - Parameter limit: The most writes to return, at least 1.
    /// - Returns: `nil` when the queue is empty.
    /// - Throws: ``PowerSyncError``, also for a limit below 1.
    func getCrudBatch(limit: Int32) async throws -> CrudBatch?

    /// The transactions of the upload queue, oldest first.
    func getCrudTransactions() -> CrudTransactions

    /// How much waits for its upload.
    ///
    /// - Parameter includeSize: Whether to add up the size as well, which reads every entry.
    /// - Returns: The number of writes, and their size if asked for.
    /// - Throws: ``PowerSyncError``.
    func getUploadQueueStats(includeSize: Bool) async throws -> UploadQueueStats

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
    func onChange(
        tables: Set<String>,
        throttle: TimeInterval,
        triggerImmediately: Bool
    ) -> AsyncThrowingStream<Set<String>, any Error>

    /// Records the changes to a view until the returned object is stopped.
    ///
    /// Prefer ``withTableDiff(of:options:_:)``, which stops by itself.
    ///
    /// - Parameters:
    ///   - view: The name of a view in the schema.
    ///   - options: What is recorded.
    /// - Returns: The recorded changes.
    /// - Throws: ``PowerSyncError`` when the schema has no such view or column, SQLite does not understand a condition, or
    ///   the database is not one of ours; what the hook of the options throws.
    func trackTableDiff(of view: String, options: TableDiffOptions) async throws -> TableDiff

    /// Asks the service for a checkpoint that covers everything the backend has committed by now.
    ///
    /// Needs ``CheckpointMode/requests(checkpointRequestRetryDelay:)``. Waits until the service has accepted the request,
    /// and ends the delay before the next attempt to connect, if there is one; there is no time limit.
    ///
    /// ```swift
    /// try await backend.perform(.recalculate)
    /// let request = try await database.requestCheckpoint()
    /// try await request.waitForSync(timeout: 10)
    /// // What the backend has done can be read.
    /// ```
    ///
    /// - Returns: The request.
    /// - Throws: ``CheckpointRequestError``, `CancellationError`, or ``PowerSyncError`` for a database that is not one of
    ///   ours.
    func requestCheckpoint() async throws -> any CheckpointRequest

    /// Connects, uploads everything, applies a checkpoint that contains it, and disconnects: for work in the background.
    ///
    /// ```swift
    /// let result = try await database.syncOnce(connector: connector, deadline: .seconds(25))
    /// if !result.isComplete { log("not synced: \(result.activity)") }
    /// ```
    ///
    /// Failures are retried until the deadline, as in any connection, and told in the result.
    ///
    /// If the database is connected already, that connection is used, `connector` and `options` have no effect, and the
    /// database stays connected. Otherwise it is disconnected when the call returns, also after an error and when the task
    /// is cancelled. `uploadData` is awaited then, after its task was cancelled, but not longer than until the deadline.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - deadline: The longest time that the call takes, from now on. Only transactions that have begun are waited for
    ///     longer, the app's own included.
    /// - Returns: What was achieved.
    /// - Throws: `CancellationError`; ``PowerSyncError`` when the database cannot be opened or is closed, when another
    ///   database object syncs the same file, when another caller ends the connection, and for a database that is not of
    ///   this SDK.
    func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        deadline: Duration
    ) async throws -> SyncOnceResult

    /// Says that the credentials in use are not valid any more, for example because the user's rights have changed.
    ///
    /// The SDK calls `fetchCredentials` again, also when a call is under way already, which may hang and is ignored then. The
    /// connection stays open until the new credentials are there, and is then opened again at once. If they cannot be got, it is
    /// closed and the error is shown as that of any connection. A second call within ``ConnectOptions/retryDelay`` takes effect after it.
    ///
    /// Does not wait for the new credentials. Does nothing while the database is disconnected, and on a database that is
    /// not of this SDK.
    func invalidateCredentials() async
}

extension PowerSyncDatabaseProtocol {
    /// Starts syncing and returns, without waiting for the connection.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - crudThrottle: The least time between two upload passes, in seconds.
    ///   - retryDelay: The time before a failed connection or upload is tried again, in seconds.
    ///   - params: Parameters that the sync config can read.
    /// - Throws: ``PowerSyncError`` when the database cannot be opened or is closed.
    public func connect(
        connector: any PowerSyncBackendConnectorProtocol,
        crudThrottle: TimeInterval = 1,
        retryDelay: TimeInterval = 5,
        params: JsonParam = [:]
    ) async throws {
        try await connect(
            connector: connector,
            options: ConnectOptions(crudThrottle: crudThrottle, retryDelay: retryDelay, params: params)
        )
    }

    /// Ends the sync and deletes the data of the user, with local-only tables.
    public func disconnectAndClear() async throws {
        try await disconnectAndClear(clearLocal: true, soft: false)
    }

    /// Ends the sync and deletes the data of the user.
    ///
    /// - Parameter clearLocal: Whether local-only tables are emptied as well.
    /// - Throws: ``PowerSyncError``. Nothing is deleted then.
    public func disconnectAndClear(clearLocal: Bool) async throws {
        try await disconnectAndClear(clearLocal: clearLocal, soft: false)
    }

    /// Ends the sync and deletes the data of the user, with local-only tables.
    ///
    /// - Parameter soft: Whether the synced history is kept, out of sight.
    /// - Throws: ``PowerSyncError``. Nothing is deleted then.
    public func disconnectAndClear(soft: Bool) async throws {
        try await disconnectAndClear(clearLocal: true, soft: soft)
    }
}

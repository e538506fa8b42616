public import Foundation

/// A local database that a sync client keeps up to date.
///
/// Create one with ``PowerSyncDatabase(schema:dbFilename:logger:initialStatements:)``. Everything but ``connect(connector:options:)``
/// works without a network.
public protocol PowerSyncDatabaseProtocol: Queries, Sendable {
    /// The status of the sync client. A live object: its properties always read the newest state.
    var currentStatus: any SyncStatus { get }

    /// The logger that the database was created with.
    var logger: any LoggerProtocol { get }

    /// Waits until a complete checkpoint has been applied; returns at once when there was one before.
    ///
    /// - Throws: `CancellationError`, or ``PowerSyncError`` when the database is closed.
    func waitForFirstSync() async throws

    /// Replaces the schema: views, triggers and indexes. Rows stay readable under the new schema.
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

    /// Ends the sync, waits for running queries and closes all connections. Later operations throw. Idempotent.
    func close() async throws

    /// Closes the database and, if asked to, deletes its files.
    ///
    /// - Parameter deleteDatabase: Whether to delete the database file and its companions.
    /// - Throws: When a file cannot be deleted.
    func close(deleteDatabase: Bool) async throws
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

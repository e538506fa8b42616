import GRDB
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncSQLite

/// The part that one handle of a file has in its sync.
///
/// A connection is a ``Connection``, owned by the file's ``FileSync``.
struct SyncHandle: Sendable {
    /// The status of the file, as this handle shows it.
    let status: LiveSyncStatus
    /// The handle's access to the file.
    let database: LocalDatabase
    /// What all handles of the file share.
    let file: FileSync
    let logger: any LoggerProtocol
    let environment: SyncEnvironment
    /// Tells the handle from others of the file.
    let id: ConnectionRules.HandleID

    /// Creates the part of a handle, which is not connected.
    ///
    /// - Parameters:
    ///   - database: The handle's access to the file.
    ///   - logger: Receives messages.
    ///   - environment: The outside world.
    init(database: LocalDatabase, logger: any LoggerProtocol, environment: SyncEnvironment = .live) {
        self.database = database
        self.logger = logger
        self.environment = environment
        file = database.file.shared { FileSync() }
        status = LiveSyncStatus(of: database.file.status)
        id = file.newHandle()
    }

    /// The handle is gone: nothing changes any more, so flows end instead of waiting for ever.
    func end() {
        file.remove(id)
        status.finish()
    }

    /// Starts a connection, after ending the one of the file.
    ///
    /// Does not wait for the connection. ``ConnectionRules`` tell what this and the other calls wait for.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - app: The database as the app knows it. Kept until the connection ends.
    /// - Throws: When the database cannot be opened or is closed, or `CancellationError` while another call is served.
    func connect(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        database app: any PowerSyncDatabaseProtocol
    ) async throws {
        try await openDatabase()
        try await file.call(.connect, by: id, connections(connector: connector, options: options, database: app))
    }

    /// Makes connections.
    ///
    /// - Returns: Makes one when no other one runs.
    func connections(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        database app: any PowerSyncDatabaseProtocol
    ) -> @Sendable (ConnectionRules.ConnectionID) -> Connection {
        { [database, environment, logger, file] id in
            let context = SyncContext(
                connection: id,
                database: database,
                app: app,
                connector: connector,
                options: options,
                status: database.file.status,
                environment: environment,
                logger: logger
            )
            if context.checkpointRequests == nil, connector is any CustomCheckpointRequestConnector {
                logger.warning(
                    "The connector posts checkpoint requests, but is not asked to: ConnectOptions.checkpointMode is .legacy",
                    tag: LogTag.database
                )
            }
            return Connection(id: id, context: context) { file.liveStreams.keys }
        }
    }

    /// Ends this handle's connection and waits for its end.
    func disconnect() async {
        _ = try? await file.call(.disconnect, by: id)
    }

    /// Runs `body` while the file is not connected, and cannot be.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when it is; what `body` throws.
    func whileDisconnected<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await file.alone(.changeSchema, by: id, body)
    }

    /// Ends the file's connection and clears the database in one transaction.
    ///
    /// The status starts over, by way of ``StatusFollower``.
    ///
    /// - Parameter clear: Deletes the data.
    /// - Returns: What `clear` returns.
    /// - Throws: What `clear` throws, or an error when the database cannot be opened.
    func disconnectAndClear<Result: Sendable>(
        _ clear: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await file.alone(.clear, by: id) {
            // Also for a cancelled task, such as one of the connector: after a sign-out the data must be gone.
            try await Task.ignoringCancellation { [database, file] in
                try await database.writeWithoutTransaction { db in
                    try LocalData.despiteForeignKeys(db) {
                        try db.transaction(.immediate) { db in
                            let lastEntry = try UploadQueue.sequence(db)
                            let result = try clear(db)
                            db.afterNextTransaction { _ in
                                // A handle whose subscription the next transaction stores is a new one.
                                file.liveStreams.forgetAll()
                                if let lastEntry { file.uploadQueueWasCleared(through: lastEntry) }
                            }
                            return result
                        }
                    }
                }
            }
        }
    }

    /// Disconnects for good; waits for a status end with an error, and flows end.
    func close() async {
        _ = try? await file.call(.close, by: id)
        status.finish()
    }

    /// Waits for a status.
    ///
    /// Opens the database.
    ///
    /// - Throws: What `isReached` throws, `CancellationError`, or an error when the database cannot be opened or is closed.
    func waitForStatus(_ isReached: @escaping @Sendable (SyncStatusSnapshot) throws -> Bool) async throws {
        try await openDatabase()
        try await status.wait(until: isReached)
    }

    /// Waits until something has been synced completely.
    ///
    /// - Parameter priority: The priority of interest; `nil` for a complete sync.
    /// - Throws: As ``waitForStatus(_:)``.
    func waitForFirstSync(priority: BucketPriority?) async throws {
        try await waitForStatus { status in
            if let priority {
                status.statusForPriority(priority).hasSynced == true
            } else {
                status.hasSynced == true
            }
        }
    }

    /// Asks for a checkpoint that covers everything the backend has committed.
    ///
    /// - Throws: ``CheckpointRequestError``, `CancellationError`.
    func requestCheckpoint() async throws -> any CheckpointRequest {
        guard !file.isClosed(id), let connection = file.connection else {
            throw CheckpointRequestError.notConnecting
        }
        return try await connection.requestCheckpoint(shownBy: status)
    }

    private func openDatabase() async throws {
        guard !file.isClosed(id) else { throw PowerSyncError.databaseIsClosed }
        try await database.read { _ in }
    }
}

// Sync streams.
extension SyncHandle {
    /// A handle on a stream.
    ///
    /// Has no effect.
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        DatabaseSyncStream(name: name, parameters: params, sync: self)
    }

    /// Stores a subscription and counts a handle.
    ///
    /// - Parameters:
    ///   - key: The stream.
    ///   - lifetime: How long the subscription outlives its handles, in seconds; `nil` for the default.
    ///   - priority: Replaces the stream's priority.
    /// - Returns: The share that the new handle owns.
    /// - Throws: When the database cannot be written.
    func subscribe(to key: StreamKey, lifetime: Int64?, priority: Priority?) async throws -> LiveStreams.Share {
        try await openDatabase()
        let now = SyncInstant(environment.now())
        return try await database.write { [liveStreams = file.liveStreams, stored = subscriptionStored] db in
            // Counted before it is committed: an iteration that starts in between must not delete a subscription without time to
            // live. And counted here, because a clear, or the end of all subscriptions, counts before or after this transaction.
            let share = liveStreams.retain(key)
            db.afterNextTransaction { _ in
            } onRollback: { _ in
                _ = liveStreams.release(share)
            }
            try StreamSubscriptions.subscribe(db, key, timeToLive: lifetime, priority: priority, now: now)
            let status = try StreamSubscriptions.status(db, of: key)
            db.afterNextTransaction { _ in stored(status) }
            return share
        }
    }

    /// Ends all subscriptions of a stream.
    func unsubscribeAll(from key: StreamKey) async throws {
        try await openDatabase()
        try await database.write { [liveStreams = file.liveStreams, stored = subscriptionStored] db in
            try StreamSubscriptions.unsubscribeAll(db, key)
            let status = try StreamSubscriptions.status(db, of: key)
            db.afterNextTransaction { _ in
                // After the table: a connection that hears of it must find the table changed.
                liveStreams.forget(key)
                stored(status)
            }
        }
    }

    /// A handle has ended.
    func release(_ share: LiveStreams.Share) {
        if file.liveStreams.release(share) {
            // The table has not changed: data stays until the time to live is over.
            file.subscriptionsChanged()
        }
    }

    /// Tells the running iteration of a subscription, or else shows what is in the table now.
    ///
    /// To be called when the transaction was committed, before another one begins: so subscriptions are shown in the order of their
    /// transactions, each at the same cost, however many there are.
    private var subscriptionStored: @Sendable (StreamStatus?) -> Void {
        { [file, status = database.file.status] stream in
            if file.subscriptionsChanged(stored: stream) { return }
            if let stream { status.subscriptionStored(stream) }
        }
    }
}

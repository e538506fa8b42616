import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// Connects one database with the sync service.
///
/// A connection is a ``Connection``, owned by the database's ``SyncGroup``. This type starts and ends connections, one
/// after the other, and answers for the status.
final class SyncClient: Sendable {
    /// The status of the database, live.
    let status = LiveSyncStatus()

    let database: LocalDatabase
    let group: SyncGroup
    let logger: any LoggerProtocol
    let environment: SyncEnvironment
    /// This database's number in the group.
    let member: SyncGroup.MemberID
    /// Keeps the status up to date while others sync.
    let follower: OfflineStatusFollower

    /// Creates a client that is not connected.
    ///
    /// - Parameters:
    ///   - database: The database on disk.
    ///   - group: What databases of the same file share.
    ///   - logger: Receives messages.
    ///   - environment: The outside world.
    init(
        database: LocalDatabase,
        group: SyncGroup,
        logger: any LoggerProtocol,
        environment: SyncEnvironment = .live
    ) {
        self.database = database
        self.group = group
        self.logger = logger
        self.environment = environment
        let member = group.add(status)
        self.member = member
        follower = OfflineStatusFollower(database: database, group: group, member: member, status: status)
        database.syncState.onReset { [weak group] offline in group?.syncStateWasReset(to: offline) }
    }

    deinit {
        group.remove(member)
        // Nothing changes any more: flows end instead of waiting for ever.
        status.finish()
    }

    /// The database has been opened.
    ///
    /// - Parameter offline: What the database knows of earlier connections.
    func databaseDidOpen(_ offline: DownloadStatus) {
        status.offlineStateLoaded(offline)
        follower.start()
    }

    /// Starts a connection, after ending the one of the group.
    ///
    /// Does not wait for the connection. ``SyncGroup/StateMachine`` tells what this and the other calls wait for.
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
        try await group.connect(member, connections(connector: connector, options: options, database: app))
    }

    /// Makes connections.
    ///
    /// - Returns: Makes one when no other one runs.
    func connections(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        database app: any PowerSyncDatabaseProtocol
    ) -> @Sendable (SyncGroup.ConnectionID) -> Connection {
        { [database, status, environment, logger, group] id in
            let context = SyncContext(
                connection: id,
                database: database,
                app: app,
                connector: connector,
                options: options,
                status: status,
                environment: environment,
                logger: logger
            )
            if context.checkpointRequests == nil, connector is any CustomCheckpointRequestConnector {
                logger.warning(
                    "The connector posts checkpoint requests, but is not asked to: ConnectOptions.checkpointMode is .legacy",
                    tag: LogTag.database
                )
            }
            return Connection(id: id, context: context, status: status) { group.liveStreams.keys }
        }
    }

    /// Ends this database's connection and waits for its end.
    func disconnect() async {
        await group.disconnect(member)
        follower.connectionEnded()
    }

    /// Drops the credentials of the running connection.
    func invalidateCredentials() {
        group.invalidateCredentials()
    }

    /// Runs `body` while nobody syncs the file, and nobody can start to.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when somebody does; what `body` throws.
    func whileDisconnected<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await group.whileDisconnected(by: member, body)
    }

    /// Ends the group's connection and clears the database in one transaction.
    ///
    /// The statuses of all members start over, by way of ``SyncStateObserver``.
    ///
    /// - Parameter clear: Deletes the data.
    /// - Throws: What `clear` throws, or an error when the database cannot be opened.
    func disconnectAndClear(_ clear: @escaping @Sendable (Database) throws -> Void) async throws {
        try await group.whileStopped(by: member) {
            // Also for a cancelled task, such as one of the connector: who signs out wants the data gone.
            try await Task.ignoringCancellation { [database, group] in
                try await database.write { db in
                    let lastEntry = try UploadQueue.sequence(db)
                    try clear(db)
                    db.afterNextTransaction { _ in
                        // A handle whose subscription the next transaction stores is a new one.
                        group.liveStreams.forgetAll()
                        if let lastEntry { group.uploadQueueWasCleared(through: lastEntry) }
                    }
                }
            }
        }
    }

    /// Disconnects for good; waits for a status end with an error, and flows end.
    func close() async {
        await group.close(member)
        await follower.stop()
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
        guard let connection = group.connection(of: member) else { throw CheckpointRequestError.notConnecting }
        return try await connection.requestCheckpoint()
    }

    private func openDatabase() async throws {
        guard !group.isClosed(member) else { throw PowerSyncError.databaseIsClosed }
        try await database.read { _ in }
    }
}

// Sync streams.
extension SyncClient {
    /// A handle on a stream.
    ///
    /// Has no effect.
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        DatabaseSyncStream(name: name, parameters: params, client: self)
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
        return try await database.write { [liveStreams = group.liveStreams, stored = subscriptionStored] db in
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
        try await database.write { [liveStreams = group.liveStreams, stored = subscriptionStored] db in
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
        if group.liveStreams.release(share) {
            // The table has not changed: data stays until the time to live is over.
            group.subscriptionsChanged(by: member)
        }
    }

    /// Tells the running iteration of a subscription, or else shows what is in the table now.
    ///
    /// To be called when the transaction was committed, before another one begins: so subscriptions are shown in the order of their
    /// transactions, each at the same cost, however many there are.
    private var subscriptionStored: @Sendable (StreamStatus?) -> Void {
        { [group, member, status] stream in
            if group.subscriptionsChanged(by: member, stored: stream) { return }
            if let stream { status.subscriptionStored(stream) }
        }
    }
}

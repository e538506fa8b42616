import PowerSyncCore

extension SyncClient {
    /// Syncs until everything is uploaded and downloaded, or until a deadline.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - deadline: The longest time to try.
    ///   - app: The database as the app knows it.
    /// - Returns: What was achieved.
    /// - Throws: As ``PowerSyncDatabaseProtocol/syncOnce(connector:options:deadline:)``.
    func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        deadline: Duration,
        database app: any PowerSyncDatabaseProtocol
    ) async throws -> SyncOnceResult {
        let clock = ElapsedClock(environment.clock)
        let start = try await database.read { try UploadQueue.position($0) }
        let (session, isNew) = try await group.joinOrConnect(
            member,
            sessions(connector: connector, options: options, database: app)
        )
        // What a connection has synced before it was lost is no answer.
        let known = status.snapshot
        let syncs = known.connected ? 0 : known.activityState.completedSyncs
        do {
            let isComplete = try await waitUntilSynced(session.connection, after: syncs, until: deadline, clock)
            // Before disconnecting, which ends all waits.
            let snapshot = status.snapshot
            let end = try await database.read { try UploadQueue.position($0) }
            if isNew { await leave(session) }
            return SyncOnceResult(
                isComplete: isComplete,
                uploadedEntries: Int(clamping: max(0, end - start)),
                activity: snapshot.connectionActivity,
                uploadError: snapshot.lastUploadError,
                downloadError: snapshot.lastDownloadError
            )
        } catch {
            if isNew { await leave(session) }
            throw error
        }
    }

    private func leave(_ session: SyncSession) async {
        await group.end(session, of: member)
        follower.sessionEnded()
    }

    /// What is thrown when somebody else ends the connection.
    static var endedWhileSyncingOnce: PowerSyncError {
        .operationFailed(message: "The connection was ended while syncing once.")
    }

    /// Waits until a connection has uploaded and downloaded everything.
    ///
    /// - Parameters:
    ///   - connection: Its number.
    ///   - syncs: How many complete checkpoints are not enough.
    ///   - deadline: The longest time to wait.
    ///   - clock: Measures it.
    /// - Returns: Whether that was before the deadline.
    /// - Throws: ``PowerSyncError`` when the connection ends, or `CancellationError`.
    private func waitUntilSynced(
        _ connection: UInt64,
        after syncs: UInt64,
        until deadline: Duration,
        _ clock: ElapsedClock
    ) async throws -> Bool {
        struct DeadlineReached: Error {}
        do {
            try await clock.withLimit(deadline - clock.now, otherwise: DeadlineReached()) {
                try await self.waitUntilSynced(connection, after: syncs)
            }
            return true
        } catch is DeadlineReached {
            return false
        }
    }

    private func waitUntilSynced(_ connection: UInt64, after syncs: UInt64) async throws {
        for await _ in status.activityChanges() {
            let snapshot = status.snapshot
            guard !snapshot.activityState.isOver(connection) else {
                throw SyncClient.endedWhileSyncingOnce
            }
            // While the gate is closed there are writes that no checkpoint contains.
            if snapshot.activityState.hasCompletedSync, snapshot.activityState.completedSyncs > syncs,
                !snapshot.downloading,
                try await database.read({ try LocalWriteGate.isOpen($0) })
            {
                return
            }
        }
        try Task.checkCancellation()
        throw PowerSyncError.operationFailed(message: "The database was closed while syncing once.")
    }
}

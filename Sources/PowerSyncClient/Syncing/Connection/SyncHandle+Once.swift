import NIOConcurrencyHelpers
import PowerSyncCore

extension SyncHandle {
    /// Syncs until everything is uploaded and downloaded, or until a deadline.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - deadline: When it ends.
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
        // The position of the upload queue before anything was uploaded, what the connection that was opened or joined has reached, and
        // the connection if this call has opened it.
        let call = NIOLockedValueBox<(start: Int64?, progress: ConnectionProgress?, connection: Connection?)>(
            (nil, nil, nil)
        )
        let isComplete: Bool
        do {
            isComplete = try await isDone(before: deadline, clock) {
                let start = try await self.database.read { try UploadQueue.position($0) }
                call.withLockedValue { $0.start = start }
                let answer = try await self.file.call(
                    .syncOnce,
                    by: self.id,
                    self.connections(connector: connector, options: options, database: app)
                )
                guard let connection = answer.connection else { throw PowerSyncError.disconnectedWhileSyncingOnce }
                call.withLockedValue { call in
                    call.progress = connection.progress
                    if answer.answer == .opened(connection.id) { call.connection = connection }
                }
                try await self.waitUntilSynced(connection.progress)
            }
        } catch {
            await leave(call.withLockedValue { $0.connection }, until: deadline, clock)
            throw error
        }
        // Before disconnecting, which ends all waits.
        let facts = call.withLockedValue { $0.progress?.current }
        await leave(call.withLockedValue { $0.connection }, until: deadline, clock)
        // Afterwards: while the app's own reads have all connections, this waits, and must not keep the network open.
        return SyncOnceResult(
            isComplete: isComplete,
            uploadedEntries: try await uploadedEntries(since: call.withLockedValue { $0.start }),
            activity: facts?.activity.activity ?? ConnectionActivity(),
            uploadError: facts?.uploadError,
            downloadError: facts?.downloadError
        )
    }

    /// Does something until a deadline.
    ///
    /// - Parameters:
    ///   - deadline: When `body` is cancelled.
    ///   - clock: Measures it.
    ///   - body: What to do. It is awaited in any case.
    /// - Returns: Whether `body` has ended before the deadline.
    /// - Throws: What `body` throws.
    private func isDone(
        before deadline: Duration,
        _ clock: ElapsedClock,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
        try await clock.withLimit(deadline - clock.now, body) != nil
    }

    private func uploadedEntries(since start: Int64?) async throws -> Int {
        guard let start else { return 0 }
        let end = try await database.read { try UploadQueue.position($0) }
        return Int(clamping: max(0, end - start))
    }

    /// Ends a connection.
    ///
    /// Waits until its loops have ended, and for the methods of its connector until the deadline. The next connection waits for
    /// those.
    private func leave(_ connection: Connection?, until deadline: Duration, _ clock: ElapsedClock) async {
        guard let connection else { return }
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        // It may outlive this call, by ``Connection/returnLimit``.
        Task { [file, id, ending = connection.id] in
            _ = try? await file.call(.endOnce(ending), by: id)
            end.finish()
        }
        await Task.ignoringCancellation {
            await connection.waitForLoops()
            _ = try? await self.isDone(before: deadline, clock) { for await _ in ended {} }
        }
    }

    /// Waits until a connection has uploaded and downloaded everything.
    ///
    /// - Throws: ``PowerSyncError`` when the connection ends, or `CancellationError`.
    private func waitUntilSynced(_ progress: ConnectionProgress) async throws {
        let known = progress.current
        // What a connection has synced before it was lost is no answer.
        let syncs = known.isStreamOpen ? 0 : known.activity.completedSyncs
        for await facts in progress.changes() {
            guard !facts.isOver else { throw PowerSyncError.disconnectedWhileSyncingOnce }
            guard progress.mode.downloads else {
                if try await database.read({ try LocalWriteGate.isUploaded($0) }) { return }
                continue
            }
            // While the gate is closed there are writes that no checkpoint contains.
            if facts.activity.completedSyncs > syncs, !facts.isDownloading,
                try await database.read({ try LocalWriteGate.isOpen($0) })
            {
                return
            }
        }
        throw CancellationError()
    }
}

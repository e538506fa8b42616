extension PowerSyncDatabaseProtocol {
    /// Waits until something has been synced completely, at most for a while.
    ///
    /// ```swift
    /// do {
    ///     try await database.waitForFirstSync(timeout: .seconds(10))
    /// } catch let error as PowerSyncError where error.code == .timedOut {
    ///     show("Still loading…")
    /// }
    /// ```
    ///
    /// Syncing goes on after the time.
    ///
    /// - Parameters:
    ///   - priority: The priority of interest, which buckets of higher priorities (smaller numbers) belong to; `nil` for a complete sync.
    ///   - timeout: The longest time to wait. 0 and less look once.
    /// - Throws: ``PowerSyncError`` with the code ``PowerSyncErrorCode/timedOut``, otherwise as ``waitForFirstSync(priority:)``.
    public func waitForFirstSync(priority: BucketPriority? = nil, timeout: Duration) async throws {
        let clock = ElapsedClock(SyncedDatabase.behind(self)?.sync.environment.clock ?? ContinuousClock())
        try await waitForReady()
        let hasSynced =
            if let priority { currentStatus.statusForPriority(priority).hasSynced } else { currentStatus.hasSynced }
        if hasSynced == true { return }
        guard timeout > .zero else { throw PowerSyncError.notSynced(within: timeout, "\(currentStatus)") }
        try await clock.withLimit(
            min(timeout, Argument.longestTime),
            otherwise: PowerSyncError.notSynced(within: timeout, "\(currentStatus)")
        ) {
            if let priority {
                try await waitForFirstSync(priority: priority.priorityCode)
            } else {
                try await waitForFirstSync()
            }
        }
    }
}

extension PowerSyncDatabaseProtocol {
    /// Waits until the sync status satisfies a condition; returns at once when it does.
    ///
    /// ```swift
    /// try await database.waitForStatus { $0.connected && !$0.downloading }
    /// ```
    ///
    /// - Parameter predicate: Called with the present status and with every later one.
    /// - Throws: `CancellationError`, or ``PowerSyncError`` when the database is closed.
    public func waitForStatus(_ predicate: @Sendable @escaping (any SyncStatusData) -> Bool) async throws {
        try await waitForReady()
        for await status in currentStatus.asFlow() where predicate(status) {
            return
        }
        try Task.checkCancellation()
        throw PowerSyncError.closed(while: "waiting for a sync status")
    }
}

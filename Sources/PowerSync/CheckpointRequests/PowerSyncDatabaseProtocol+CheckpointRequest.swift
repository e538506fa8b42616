extension PowerSyncDatabaseProtocol {
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
    public func requestCheckpoint() async throws -> any CheckpointRequest {
        guard let own = self as? SyncedDatabase else {
            throw PowerSyncError.operationFailed(
                message: "Requesting a checkpoint is not supported by a database of type \(type(of: self))"
            )
        }
        return try await own.sync.requestCheckpoint()
    }
}

extension PowerSyncDatabaseProtocol {
    /// Asks the service for a checkpoint that has everything that is in its source by now.
    ///
    /// - Returns: The request, when the service has accepted it.
    /// - Throws: ``CheckpointRequestError``, `CancellationError`, or ``PowerSyncError`` for a database that is not one of this SDK.
    public func requestCheckpoint() async throws -> any CheckpointRequest {
        try await requireOwn(for: "requestCheckpoint").sync.requestCheckpoint()
    }
}

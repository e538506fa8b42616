extension PowerSyncDatabaseProtocol {
    /// Has the database of ours do it.
    public func requestCheckpoint() async throws -> any CheckpointRequest {
        try await requireOwn(for: "requestCheckpoint").sync.requestCheckpoint()
    }
}

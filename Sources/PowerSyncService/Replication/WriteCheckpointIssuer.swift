package import PowerSyncProtocol

/// Creates write checkpoints (`service.md` 16.2).
///
/// The order is what makes them correct: first the source position, which is not before the uploads that the client has
/// finished; then the record; then a marker, which makes replication pass that position even if the source is idle.
/// With the marker before the record, replication could pass it while there is nothing to show yet, and never look
/// again.
package struct WriteCheckpointIssuer: Sendable {
    private let storage: any BucketStorage
    private let source: any ReplicationSource

    /// Creates an issuer.
    package init(storage: any BucketStorage, source: any ReplicationSource) {
        self.storage = storage
        self.source = source
    }

    /// Creates a write checkpoint for everything that has been committed to the source before the call.
    ///
    /// - Parameter userKey: `user_id/client_id`, or `user_id` for a client that sends no id.
    /// - Returns: A number that is larger than all earlier ones of the key.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream` before the first activation, or an error of the
    ///   source.
    package func create(userKey: String) async throws -> WriteCheckpoint {
        let head = try await source.head()
        let checkpoint = try await storage.createWriteCheckpoint(userKey: userKey, head: head)
        try await source.emitMarker()
        return checkpoint
    }
}

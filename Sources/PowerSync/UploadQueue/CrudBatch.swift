/// The oldest writes of the upload queue, across transactions.
public struct CrudBatch: Sendable {
    /// Whether more writes wait.
    public let hasMore: Bool
    /// The writes, oldest first.
    public let crud: [CrudEntry]
    let completion: UploadCompletion

    /// Removes the writes of the batch, and all before them, from the upload queue.
    ///
    /// - Parameter writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits. It counts when
    ///   the queue is empty afterwards.
    /// - Throws: ``PowerSyncError``, also when `writeCheckpoint` is not a number; the queue is unchanged then.
    public func complete(writeCheckpoint: String? = nil) async throws {
        try await completion.complete(writeCheckpoint: writeCheckpoint)
    }
}

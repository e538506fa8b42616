import PowerSyncClient

/// Hands out the attachments table of a queue.
public protocol AttachmentServiceProtocol: Sendable {
    /// The ids of the attachments whose transfer waits or runs, oldest first.
    ///
    /// The first element is what is there now; another follows when an id comes or goes or changes its state.
    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error>

    /// Runs a callback while the table has no other user: neither the queue nor another callback.
    ///
    /// Callbacks run in the order of asking. They should be short: saving and deleting files waits for them.
    /// ``AttachmentQueue/clearQueue()`` waits for half a second at most; then the callback is cancelled, and this call throws
    /// ``PowerSyncAttachmentError/generalError(_:)``.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` inside another callback of the same queue,
    ///   `CancellationError` when the task is cancelled while it waits, else what the callback throws.
    func withContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R
}

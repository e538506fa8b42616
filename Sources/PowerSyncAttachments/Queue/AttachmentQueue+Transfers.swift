import PowerSyncClient

// What is transferred when, and how far it is.
extension AttachmentQueue {
    /// Looks for work now; what failed is tried again at once.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``.
    public func triggerSync() async throws {
        try await syncingService.triggerSync()
    }

    /// Begins no transfer any more, and interrupts those that run, until ``resumeTransfers()``.
    ///
    /// Interrupted transfers are not failures. A download through a transport that can resume goes on later where it stopped.
    /// References are followed, and files can be saved and deleted, meanwhile. Stopping and starting does not end a pause.
    public func pauseTransfers() {
        runner.pause()
    }

    /// Transfers again.
    public func resumeTransfers() {
        runner.resume()
    }

    /// Transfers some files before all others, for example those on the screen.
    ///
    /// Transfers that run are not interrupted.
    ///
    /// - Parameter ids: The ids, the most urgent first. They replace those of the last call.
    public func prioritize(_ ids: [String]) {
        runner.prioritize(ids)
    }

    /// How far each transfer is: those that run now, then their changes.
    ///
    /// Of one attachment a slow consumer gets the newest state only. The stream ends when the queue is closed.
    public nonisolated var attachmentProgress: AsyncStream<AttachmentTransferProgress> {
        parts.transfers.progress.transfers()
    }

    /// How far the transfer of one attachment is: now, if it runs, then its changes.
    ///
    /// The last element of a transfer is ``AttachmentTransferProgress/Phase/finished`` or
    /// ``AttachmentTransferProgress/Phase/interrupted``; more follow when it begins again. A slow consumer gets the newest state only.
    /// The stream ends when the queue is closed.
    ///
    /// - Parameter id: The id.
    /// - Returns: The stream.
    public nonisolated func attachmentProgress(of id: String) -> AsyncStream<AttachmentTransferProgress> {
        parts.transfers.progress.transfers(of: id)
    }

    /// How far all transfers are: now, then after each change.
    ///
    /// A slow consumer gets the newest state only. The stream ends when the queue is closed.
    public nonisolated var overallProgress: AsyncStream<AttachmentQueueProgress> {
        parts.transfers.progress.overallChanges()
    }
}

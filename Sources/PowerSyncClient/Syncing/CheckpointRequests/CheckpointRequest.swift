public import Foundation

/// A request for a checkpoint that covers everything the backend had committed when it was made.
///
/// Made by ``PowerSyncDatabaseProtocol/requestCheckpoint()``.
public protocol CheckpointRequest: Sendable {
    /// Whether a complete checkpoint that covers the request has been applied.
    ///
    /// Survives a reconnection; removing the data of the user removes it.
    var hasSynced: Bool { get }

    /// Waits until ``hasSynced``.
    ///
    /// May be called again after it has thrown, for example when the client has reconnected.
    ///
    /// - Throws: ``CheckpointWaitError`` when syncing has failed or fails meanwhile, or ends; `CancellationError`.
    func waitForSync() async throws

    /// Waits until ``hasSynced``, but not for ever.
    ///
    /// - Parameter timeout: The longest time to wait, in seconds; 0 and less throw at once unless ``hasSynced``.
    /// - Throws: ``CheckpointWaitError``, `CancellationError`.
    func waitForSync(timeout: TimeInterval) async throws
}

extension CheckpointRequest {
    /// Another name of ``hasSynced``.
    public var isSynced: Bool { hasSynced }

    /// Waits with the system's clock.
    public func waitForSync(timeout: TimeInterval) async throws {
        try await waitForSync(timeout: timeout, clock: ElapsedClock(ContinuousClock()))
    }

    func waitForSync(timeout: TimeInterval, clock: ElapsedClock) async throws {
        if hasSynced { return }
        guard timeout > 0 else { throw CheckpointWaitError.timeout }
        try await clock.withLimit(
            Duration(clampingSeconds: timeout),
            otherwise: CheckpointWaitError.timeout
        ) {
            try await waitForSync()
        }
    }
}

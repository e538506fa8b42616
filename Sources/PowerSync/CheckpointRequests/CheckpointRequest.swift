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
    /// Waits with the system's clock.
    public func waitForSync(timeout: TimeInterval) async throws {
        try await waitForSync(timeout: timeout, clock: ElapsedClock(ContinuousClock()))
    }

    func waitForSync(timeout: TimeInterval, clock: ElapsedClock) async throws {
        if hasSynced { return }
        guard timeout > 0 else { throw CheckpointWaitError.timeout }
        try await clock.withLimit(
            ConnectOptions.duration(seconds: timeout),
            otherwise: CheckpointWaitError.timeout
        ) {
            try await waitForSync()
        }
    }
}

/// An error of a ``CheckpointRequest``.
public protocol CheckpointError: Error, LocalizedError {}

/// Why a checkpoint could not be requested.
public enum CheckpointRequestError: CheckpointError {
    /// The service does not know checkpoint requests.
    case instanceNotSupported
    /// The database is not connected and does not try to be.
    case notConnecting
    /// The connection was made with ``CheckpointMode/legacy``.
    case checkpointRequestsNotEnabled
    /// Something else.
    case operationFailed(message: String? = nil, underlyingError: (any Error)? = nil)

    /// The text for people.
    public var errorDescription: String? {
        switch self {
        case .instanceNotSupported: "The sync service does not support checkpoint requests."
        case .notConnecting: "The database is not connected; call connect() before requesting a checkpoint."
        case .checkpointRequestsNotEnabled:
            "Checkpoint requests are not enabled; connect with ConnectOptions(checkpointMode: .requests())."
        case .operationFailed(let message, let underlyingError):
            PowerSyncError.operationFailed(message: message, underlyingError: underlyingError).errorDescription
        }
    }
}

/// Why waiting for a checkpoint has ended.
public enum CheckpointWaitError: CheckpointError {
    /// The time is up.
    case timeout
    /// The client is not connected and does not try to be at the moment.
    case disconnected
    /// The status shows an error.
    case errorDetected(message: String)
    /// The connection was made with ``CheckpointMode/legacy``.
    case checkpointRequestsNotEnabled

    /// The text for people.
    public var errorDescription: String? {
        switch self {
        case .timeout: "The checkpoint was not applied in time."
        case .disconnected: "The client disconnected before the checkpoint was applied."
        case .errorDetected(let message): "The checkpoint was not applied: \(message)"
        case .checkpointRequestsNotEnabled:
            "Checkpoint requests are not enabled; connect with ConnectOptions(checkpointMode: .requests())."
        }
    }
}

extension CheckpointRequestError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}

extension CheckpointWaitError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}

public import Foundation

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
            PowerSyncError.operationDescription(message, underlyingError)
        }
    }
}

/// Why waiting for a checkpoint has ended.
public enum CheckpointWaitError: CheckpointError, Equatable {
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

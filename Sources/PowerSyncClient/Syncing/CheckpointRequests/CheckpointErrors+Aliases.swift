/// Another name of ``CheckpointRequestError``.
public typealias CheckPointRequestError = CheckpointRequestError

extension CheckpointRequestError {
    /// Another name of ``notConnecting``, also where errors are caught.
    ///
    /// ```swift
    /// do {
    ///     _ = try await database.requestCheckpoint()
    /// } catch CheckpointRequestError.notConnected {
    ///     show("Offline")
    /// }
    /// ```
    public static var notConnected: CheckpointRequestError { .notConnecting }

    /// An error like the one that is thrown when the service does not accept the token.
    ///
    /// It is an ``operationFailed(message:underlyingError:)``, so it cannot be caught by this name: see ``isUnauthenticated``.
    ///
    /// - Parameter message: What the service said.
    /// - Returns: The error, for which ``isUnauthenticated`` is true.
    public static func unauthenticated(message: String) -> CheckpointRequestError {
        CheckpointRequestError.operationFailed(
            message: "The sync service did not accept the token",
            underlyingError: SyncTransportError(.status, message: message, httpStatus: 401)
        )
    }

    /// Whether the service did not accept the token of the connection.
    ///
    /// ```swift
    /// do {
    ///     _ = try await database.requestCheckpoint()
    /// } catch let error as CheckpointRequestError where error.isUnauthenticated {
    ///     await session.renew()
    /// }
    /// ```
    public var isUnauthenticated: Bool {
        guard case .operationFailed(_, let error as SyncTransportError) = self else { return false }
        return error.isUnauthorized
    }

    /// Whether an error is the one of that name; errors with a message are not compared.
    ///
    /// - Parameters:
    ///   - pattern: ``notConnected``.
    ///   - error: What was thrown.
    /// - Returns: Whether it matches.
    public static func ~= (pattern: CheckpointRequestError, error: any Error) -> Bool {
        switch (pattern, error as? CheckpointRequestError) {
        case (.notConnecting, .notConnecting), (.instanceNotSupported, .instanceNotSupported),
            (.checkpointRequestsNotEnabled, .checkpointRequestsNotEnabled):
            true
        default:
            false
        }
    }
}

extension CheckpointWaitError {
    /// Another name of ``disconnected``, also where errors are caught.
    public static var syncStatusClosed: CheckpointWaitError { .disconnected }

    /// Whether an error is the one of that name.
    ///
    /// - Parameters:
    ///   - pattern: ``syncStatusClosed``, for example.
    ///   - error: What was thrown.
    /// - Returns: Whether they are equal.
    public static func ~= (pattern: CheckpointWaitError, error: any Error) -> Bool {
        error as? CheckpointWaitError == pattern
    }
}

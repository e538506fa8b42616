/// What an app provides to connect a database: tokens for the sync service, and the upload of local writes.
///
/// ```swift
/// final class MyConnector: PowerSyncBackendConnectorProtocol {
///     func fetchCredentials() async throws -> PowerSyncCredentials? {
///         let session = try await backend.signIn()
///         return PowerSyncCredentials(endpoint: "https://sync.example.com", token: session.token)
///     }
///
///     func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
///         guard let transaction = try await database.getNextCrudTransaction() else { return }
///         try await backend.apply(transaction.crud)
///         try await transaction.complete()
///     }
/// }
/// ```
///
/// Both functions are called from background tasks. The conforming type may be an actor, a final class or a class
/// isolated to the main actor. They may call the database, also to connect, disconnect or clear it, for example when the backend
/// says that the session has ended.
///
/// When the connection ends, the tasks of these functions are cancelled, and waited for up to a second. What a function returns or throws
/// after that has no effect; what it calls, such as `complete()`, is done as a call of the app.
///
/// - Note: On Linux, Foundation can trap, or never answer, when a request of a `URLSession` is cancelled. Wait for one in a task
///   of its own there, which is not cancelled: `try await Task { try await URLSession.shared.data(for: request) }.value`.
public protocol PowerSyncBackendConnectorProtocol: Sendable {
    /// Fetches a token for the sync service.
    ///
    /// The SDK keeps the result and asks again before the token expires, and when the service refuses it. Return a
    /// fresh token from every call; do not cache. After ``ConnectOptions/answerLimit`` the call is cancelled and has failed; what it
    /// returns later is ignored.
    ///
    /// - Throws: Anything. The error is shown in the status, and the connection is tried again later.
    /// - Returns: `nil` when no user is signed in. The connection is then tried again after the retry delay.
    func fetchCredentials() async throws -> PowerSyncCredentials?

    /// Uploads local writes: one batch or one transaction, finished with `complete()`.
    ///
    /// Called while the client is connected and the upload queue is not empty; again at once until the queue is
    /// empty, and after the retry delay when it throws. Calls never overlap within one connection: one that does not touch the database
    /// for ``ConnectOptions/uploadLimit`` is cancelled, and the next one waits until it has returned. An entry that the
    /// backend can never accept blocks everything behind it. Throw an ``UploadRejectionError`` to leave it to
    /// ``ConnectOptions/uploadRejectionPolicy``, or complete it all the same:
    /// ``CrudTransaction/complete(rejecting:writeCheckpoint:)`` keeps it aside.
    ///
    /// - Parameter database: The database that is connected.
    /// - Throws: Anything. The error is shown in the status, and the upload is tried again later; see
    ///   ``UploadRejectionError`` for the exception.
    func uploadData(database: any PowerSyncDatabaseProtocol) async throws
}

/// A connector that posts checkpoint requests to the app's own backend, which passes them on with the data.
///
/// Used with ``CheckpointMode/requests(checkpointRequestRetryDelay:)``; ignored otherwise.
public protocol CustomCheckpointRequestConnector: PowerSyncBackendConnectorProtocol {
    /// Posts a request.
    ///
    /// - Parameters:
    ///   - checkpointRequestId: The number that a checkpoint has to repeat. Posting it again has no effect.
    ///   - clientId: The id of the database, to which numbers belong.
    /// - Returns: The number that the backend holds now: the greatest one of this client. Ignored after ``ConnectOptions/answerLimit``.
    /// - Throws: ``CheckpointRequestError`` is passed on as it is.
    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64
}

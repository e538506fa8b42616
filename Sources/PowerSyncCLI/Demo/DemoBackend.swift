import PowerSync
import PowerSyncBackend

/// The app's own backend, which hands out tokens and takes uploads.
///
/// Uploads go to the service's endpoint for development, which applies them as an app's own backend would.
struct DemoBackend: Sendable {
    /// The base URL of backend and service.
    let url: String
    /// The port in ``url``.
    let port: Int
    /// What tokens are signed with.
    let signer: SyncTokenSigner

    /// Logs a user in.
    ///
    /// - Returns: A token for the sync service.
    func token(for user: String) throws -> String {
        try signer.token(userID: user).text
    }

    /// What connects an app of a user.
    func connector(for user: String) throws -> HTTPBackendConnector {
        try HTTPBackendConnector(uploadURL: "\(url)/dev/write") {
            PowerSyncCredentials(endpoint: url, token: try token(for: user))
        }
    }
}

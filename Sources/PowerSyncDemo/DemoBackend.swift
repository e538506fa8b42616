import PowerSync
import PowerSyncBackend

/// The app's own backend, which hands out tokens and takes uploads.
///
/// With an embedded source, uploads go to the service's endpoint for development, which applies them as an app's own backend would.
struct DemoBackend: Sendable {
    /// Where the service listens.
    let port: Int
    /// Where uploads are posted to.
    let uploadURL: String
    /// What tokens are signed with.
    let signer: SyncTokenSigner

    /// The base URL of the service.
    var url: String { "http://127.0.0.1:\(port)" }

    /// What connects a client, whose user is logged in with a token for the service.
    func connector(for client: DemoClient) throws -> HTTPBackendConnector {
        let url = url
        let user = client.user
        return try HTTPBackendConnector(uploadURL: uploadURL) {
            PowerSyncCredentials(endpoint: url, token: try token(for: user))
        }
    }

    /// Logs a user in.
    ///
    /// - Returns: A token for the sync service.
    func token(for user: String) throws -> String {
        try signer.token(userID: user).text
    }
}

import NIOConcurrencyHelpers
package import PowerSync

/// A connector that uploads to the development endpoint of the service.
package final class TestConnector: PowerSyncBackendConnectorProtocol {
    private let url: String
    /// Uploads, with the last token.
    private let backend: HTTPBackendConnector
    /// The tokens that are handed out, one after the other; the last one again and again.
    private let tokens: NIOLockedValueBox<[String]>

    package init(url: String, tokens: [String]) throws {
        self.url = url
        let token = tokens.last ?? ""
        backend = try HTTPBackendConnector(
            uploadURL: url + "/dev/write",
            authorization: { _ in "Token \(token)" },
            credentials: { nil }
        )
        self.tokens = NIOLockedValueBox(tokens)
    }

    package convenience init(url: String, token: String) throws {
        try self.init(url: url, tokens: [token])
    }

    package func fetchCredentials() async throws -> PowerSyncCredentials? {
        let token = tokens.withLockedValue { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return PowerSyncCredentials(endpoint: url, token: token)
    }

    package func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await backend.uploadData(database: database)
    }
}

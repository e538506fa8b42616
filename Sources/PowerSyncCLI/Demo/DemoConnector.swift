import PowerSync

/// Connects a client of the demo to its backend, as an app would.
final class DemoConnector: PowerSyncBackendConnectorProtocol {
    private let backend: DemoBackend
    private let user: String

    /// Creates a connector for one user.
    init(backend: DemoBackend, user: String) {
        self.backend = backend
        self.user = user
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: backend.url, token: try await backend.token(for: user))
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        let token = try await backend.token(for: user)
        while let transaction = try await database.getNextCrudTransaction() {
            try await backend.upload(transaction.crud, token: token)
            try await transaction.complete()
        }
    }
}

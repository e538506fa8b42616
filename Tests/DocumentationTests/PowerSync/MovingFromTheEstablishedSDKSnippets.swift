import PowerSync

private func signedInToken() async throws -> String { "token" }
private func upload(_ entries: [CrudEntry]) async throws {}

final class OwnConnector: PowerSyncBackendConnectorProtocol {
    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://sync.example.org", token: try await signedInToken())
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let batch = try await database.getCrudBatch(limit: 100) else { return }
        try await upload(batch.crud)
        try await batch.complete()
    }
}

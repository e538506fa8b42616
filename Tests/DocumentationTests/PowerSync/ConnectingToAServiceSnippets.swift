import Foundation
import PowerSync

struct CredentialsFromASession {
    let session: any AppSession

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(
            endpoint: "https://sync.example.org",
            token: try await session.syncToken()
        )
    }
}

func connectOverWebSocket(
    _ database: any PowerSyncDatabaseProtocol,
    connector: any PowerSyncBackendConnectorProtocol,
    authorityURL: URL
) async throws {
    var options = ConnectOptions()
    options.clientConfiguration = SyncClientConfiguration(transport: .webSocket)
    try await database.connect(connector: connector, options: options)

    let authorities = try TrustedAuthorities(pem: String(contentsOf: authorityURL, encoding: .utf8))
    options.clientConfiguration = SyncClientConfiguration(trustedAuthorities: authorities)
}

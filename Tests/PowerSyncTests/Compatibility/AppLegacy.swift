import Foundation
import PowerSync

// The API of older releases. It is deprecated, and so is what uses it here: the compiler then accepts it in silence.

/// What the tests call.
protocol OlderApp: Sendable {
    func connect(_ database: any PowerSyncDatabaseProtocol) async throws
    func options() -> ConnectOptions
}

@available(*, deprecated)
final class OlderConnector: PowerSyncBackendConnector, @unchecked Sendable {
    override init() { super.init() }

    override func fetchCredentials() async throws -> PowerSyncCredentials? {
        let credentials = PowerSyncCredentials(endpoint: "https://old.example.com", token: "old", userId: "user")
        guard credentials.userId == nil else { return nil }
        return credentials
    }

    override func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let batch = try await database.getCrudBatch() else { return }
        try await batch.complete()
    }
}

/// A connector that overrides nothing.
@available(*, deprecated)
final class SilentConnector: PowerSyncBackendConnector, @unchecked Sendable {}

@available(*, deprecated)
struct ConnectorSubclassApp: OlderApp {
    func connect(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await database.connect(connector: OlderConnector(), crudThrottle: 1, retryDelay: 5, params: [:])
    }

    func options() -> ConnectOptions {
        var options = ConnectOptions(newClientImplementation: true)
        options.newClientImplementation = false
        guard options.newClientImplementation else { return ConnectOptions(retryDelay: -1) }
        return ConnectOptions(crudThrottle: 2, retryDelay: 4, params: ["a": .int(1)], newClientImplementation: true)
    }
}

@available(*, deprecated)
struct SilentApp: OlderApp {
    func connect(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await database.connect(connector: SilentConnector())
    }

    func options() -> ConnectOptions {
        ConnectOptions(
            crudThrottle: ConnectOptions.DefaultCrudThrottle,
            retryDelay: ConnectOptions.DefaultRetryDelay,
            newClientImplementation: true,
            clientConfiguration: SyncClientConfiguration(requestLogger: nil)
        )
    }
}

/// The apps.
@available(*, deprecated)
func makeOlderApps() -> [any OlderApp] {
    [ConnectorSubclassApp(), SilentApp()]
}

import Foundation
import PowerSync

func gettingStarted() async throws {
    struct Item: Codable, Identifiable {
        var id: String
        var name: String
        var bought: Bool
    }

    let schema = Schema(
        Table(name: "items", columns: [.text("owner_id"), .text("name"), .integer("bought")])
    )
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "groceries.db",
        logger: DefaultLogger(minSeverity: .warning)
    )

    // Where to sync from, and where local writes go.
    let session = Session(user: "anna")
    let connector = try HTTPBackendConnector(uploadURL: "http://127.0.0.1:8081/upload") {
        PowerSyncCredentials(endpoint: "http://127.0.0.1:8080", token: try await session.syncToken())
    }
    try await database.connect(connector: connector, options: nil)

    // Writes are local. They need no network, and are uploaded when there is one.
    for name in CommandLine.arguments.dropFirst() {
        let item = Item(id: UUID().uuidString.lowercased(), name: name, bought: false)
        try await database.insert(item, into: "items")
    }

    // The list, now and whenever it changes: here, or on another device.
    for try await items in try database.watch("SELECT * FROM items WHERE NOT bought ORDER BY name", as: Item.self) {
        print(items.map(\.name).joined(separator: ", "))
    }
}

func printTheStatus(_ database: any PowerSyncDatabaseProtocol) {
    print(database.currentStatus)
}

/// What stands for the app's own backend.
protocol BackendSession: Sendable {
    func syncToken() async throws -> String
    func post(_ entries: [CrudEntry]) async throws
}

struct Connector: PowerSyncBackendConnectorProtocol {
    let session: any BackendSession

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://sync.example.org", token: try await session.syncToken())
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        try await session.post(transaction.crud)
        try await transaction.complete()
    }
}

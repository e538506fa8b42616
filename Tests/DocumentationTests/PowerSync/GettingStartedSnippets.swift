import Foundation
import PowerSync

func gettingStarted() async throws {
    struct Todo: Codable, Identifiable {
        var id: String
        var listID: String
        var title: String
        var done: Bool

        enum CodingKeys: String, CodingKey {
            case id, title, done
            case listID = "list_id"
        }
    }

    let schema = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
        Table(name: "todos", columns: [.text("list_id"), .text("title"), .integer("done")])
    )
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "todos.db",
        logger: DefaultLogger(minSeverity: .warning)
    )

    // Where local writes go, and where to sync from: as powersync dev prints it.
    let connector = try HTTPBackendConnector(uploadURL: "http://127.0.0.1:8080/dev/write") {
        let file = "../todo-service/data/dev/user-1.token"
        return PowerSyncCredentials(
            endpoint: "http://127.0.0.1:8080",
            token: try String(contentsOfFile: file, encoding: .utf8)
        )
    }
    try await database.connect(connector: connector, options: nil)

    // Writes are local. They need no network, and are uploaded when there is one.
    for title in CommandLine.arguments.dropFirst() {
        let todo = Todo(id: UUID().uuidString.lowercased(), listID: "groceries", title: title, done: false)
        try await database.insert(todo, into: "todos")
    }

    // The open todos, now and whenever they change: here, or on another device.
    for try await todos in try database.watch("SELECT * FROM todos WHERE NOT done ORDER BY title", as: Todo.self) {
        print(todos.map(\.title).joined(separator: ", "))
    }
}

func gettingStartedWithTheBackend() async throws -> HTTPBackendConnector {
    let session = Session(user: "user-1")
    let connector = try HTTPBackendConnector(uploadURL: "http://127.0.0.1:8081/upload") {
        PowerSyncCredentials(endpoint: "http://127.0.0.1:8080", token: try await session.syncToken())
    }
    return connector
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

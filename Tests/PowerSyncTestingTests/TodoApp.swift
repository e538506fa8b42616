import PowerSync
import PowerSyncTesting

/// The app that is tested: lists and todos of a user.
enum TodoApp {
    struct Todo: Codable, Equatable, Identifiable {
        var id: String
        var listID: String
        var title: String
        var done = false

        enum CodingKeys: String, CodingKey {
            case id
            case listID = "list_id"
            case title, done
        }
    }

    static let schema = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
        Table(name: "todos", columns: [.text("list_id"), .text("title"), .integer("done")])
    )

    static let config = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
        """

    static let logger = DefaultLogger(minSeverity: .fault)

    /// A service in which each user has a list of the same name.
    static func service(users: String...) throws -> FakeService {
        let service = try FakeService(streams: config)
        for user in users {
            try service.put("lists", ["id": "list of \(user)", "owner_id": "\(user)", "name": "Groceries"])
        }
        return service
    }

    /// A database that is not connected.
    static func database() -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(inMemory: schema, logger: logger)
    }

    /// A database that has synced.
    static func database(
        of user: String,
        _ service: FakeService,
        options: ConnectOptions? = nil
    ) async throws -> any PowerSyncDatabaseProtocol {
        let database = database()
        try await database.connect(connector: service.connector(user: user), options: options)
        try await service.waitUntilSynced(database)
        return database
    }
}

extension PowerSyncDatabaseProtocol {
    /// The titles of all todos, in order.
    var titles: [String] {
        get async throws {
            try await getAll("SELECT title FROM todos ORDER BY title") { try $0.getString(index: 0) }
        }
    }

    /// Writes a todo, as the app does.
    func add(_ title: String, id: String, to list: String) async throws {
        try await insert(TodoApp.Todo(id: id, listID: list, title: title), into: "todos")
    }
}

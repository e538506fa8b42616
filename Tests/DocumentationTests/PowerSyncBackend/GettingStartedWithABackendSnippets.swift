import GRDB
import Hummingbird
import Logging
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncService

func gettingStartedWithABackend() async throws {
    let logger = Logger(label: "backend")

    // The data: the app's own tables, with a list to begin with.
    let database = try DatabasePool(path: "todos.db")
    func makeTables(in database: DatabasePool) async throws {
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT);
                    CREATE TABLE IF NOT EXISTS todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER);
                    INSERT OR IGNORE INTO lists VALUES ('groceries', 'user-1', 'Groceries');
                    INSERT OR IGNORE INTO todos VALUES ('milk', 'groceries', 'Milk', 0);
                    """
            )
        }
    }
    try await makeTables(in: database)

    // Who may write what: everybody their own lists, and todos in them.
    let applier = SQLiteUploadApplier(database) { write, db in
        switch write.entry.table {
        case "lists":
            var values = write.entry.data ?? [:]
            values["owner_id"] = .string(write.user.id)
            guard try write.belongsToUser(by: "owner_id", values: values, db) else {
                return .reject("The list belongs to somebody else.")
            }
            return .apply(values)
        case "todos":
            // The list that the todo is in, and the one that it goes to.
            var lists: [String?] = []
            if let todo = try write.storedRow(db) { lists.append(todo["list_id"]) }
            switch write.entry.data?["list_id"] {
            case nil where !lists.isEmpty || write.entry.op != .put: break
            case .string(let list): lists.append(list)
            default: return .reject("A todo is in a list.")
            }
            for list in lists {
                guard let list, try write.userOwns(list, in: "lists", by: "owner_id", db) else {
                    return .reject("There is no such list of yours.")
                }
            }
            return .apply
        default:
            return .reject("There is no table \(write.entry.table).")
        }
    }

    // Who somebody is. Replace the name, which anybody can send, with the sign-in of your app, and the secret with one of your own.
    let secret = Array("a secret for development, 32 bytes or more".utf8)
    let signer = SyncTokenSigner(key: try SigningKey.hs256(secret: secret, id: "dev"), audience: "todos")
    let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, _ in
        request.headers[.authorization].map { BackendUser(id: $0) }
    }
    let router = Router()
    routes.add(to: router)

    // What goes to whom.
    var configuration = ServiceConfiguration(
        source: .embedded(path: "todos.db", statements: []),
        storage: .sqlite(path: "buckets.db"),
        syncConfig: .file("sync.yaml")
    )
    configuration.host = "127.0.0.1"
    configuration.port = 8080
    configuration.authentication.keys = [.hs256(secret: secret, id: "dev")]
    configuration.authentication.audience = ["todos"]
    let sync = try SyncService(configuration: configuration, logger: logger)

    // Both, until they are told to stop.
    let backend = Application(
        router: router,
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 8081)),
        services: [sync],
        logger: logger
    )
    try await backend.runService()
}

import GRDB
import Hummingbird
import Logging
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncService

func gettingStartedWithABackend() async throws {
    let logger = Logger(label: "backend")

    // The data.
    let database = try DatabasePool(path: "groceries.db")

    // Who may write what: everybody their own items.
    let applier = SQLiteUploadApplier(database) { write, db in
        guard write.entry.table == "items" else { return .reject("There is no table \(write.entry.table).") }
        var values = write.entry.data ?? [:]
        values["owner_id"] = .string(write.user.id)
        guard try write.belongsToUser(by: "owner_id", values: values, db) else {
            return .reject("The item belongs to somebody else.")
        }
        return .apply(values)
    }

    // Who somebody is. Replace the name, which anybody can send, with the sign-in of your app, and the secret with one of your own.
    let secret = Array("a secret for development, 32 bytes or more".utf8)
    let signer = SyncTokenSigner(key: try SigningKey.hs256(secret: secret, id: "dev"), audience: "groceries")
    let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, _ in
        request.headers[.authorization].map { BackendUser(id: $0) }
    }
    let router = Router()
    routes.add(to: router)

    // What goes to whom. The service makes the table when it is missing.
    var configuration = ServiceConfiguration(
        source: .embedded(
            path: "groceries.db",
            statements: [
                """
                CREATE TABLE IF NOT EXISTS items (
                    id TEXT PRIMARY KEY NOT NULL, owner_id TEXT NOT NULL, name TEXT, bought INTEGER
                )
                """
            ]
        ),
        storage: .sqlite(path: "buckets.db"),
        syncConfig: .file("sync.yaml")
    )
    configuration.host = "127.0.0.1"
    configuration.port = 8080
    configuration.authentication.keys = [.hs256(secret: secret, id: "dev")]
    configuration.authentication.audience = ["groceries"]
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

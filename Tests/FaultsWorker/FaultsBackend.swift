import Foundation
import Hummingbird
import Logging
import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres

/// The backend of the workload: the package's applier over PostgreSQL or MySQL, and tokens for whoever says a name.
struct FaultsBackend: Sendable {
    /// What a process is started with.
    struct Settings: Decodable, Sendable {
        /// The URI of the source: `postgresql://…` or `mysql://…`.
        var database: String
        /// The port, on all interfaces.
        var port: Int
        /// What tokens are signed with.
        var secret: String
        /// How long they are valid, in seconds.
        var tokenLifetime: Int
    }

    let settings: Settings

    /// Serves until the process ends.
    func run() async throws {
        guard let parts = URLComponents(string: settings.database), let host = parts.host else {
            throw Mistake(description: "this is no URI: \(settings.database)")
        }
        let database = String(parts.path.dropFirst())
        if parts.scheme == "mysql" {
            let server = MySQLServerSettings(
                host: host,
                port: parts.port ?? 3306,
                username: parts.user ?? "",
                password: parts.password ?? "",
                database: database,
                tls: .disabled
            )
            return try await serve(MySQLUploadApplier(server) { write, _ in try await Self.decide(write) })
        }
        let client = PostgresClient(
            configuration: PostgresClient.Configuration(
                host: host,
                port: parts.port ?? 5432,
                username: parts.user ?? "",
                password: parts.password,
                database: database,
                tls: .disable
            )
        )
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { await client.run() }
            try await serve(PostgresUploadApplier(client) { write, _ in try await Self.decide(write) })
            tasks.cancelAll()
        }
    }

    /// The greatest value of a register stays, and notes are their user's.
    private static func decide(_ write: ServerWrite) async throws -> WriteDecision {
        switch write.entry.table {
        case "registers":
            guard case .int(let value)? = write.entry.data?["v"], let stored = try await write.storedRow()?["v"] else {
                return .reject("There is no such register.")
            }
            return Int(stored).map { $0 < value } == true ? .apply : .done
        case "notes":
            return try await write.belongsToUser(by: "owner_id") ? .apply : .reject("The note is another user's.")
        default:
            return .apply
        }
    }

    private func serve(_ applier: some UploadApplier) async throws {
        let signer = SyncTokenSigner(
            key: try SigningKey.hs256(secret: Array(settings.secret.utf8), id: "k"),
            audience: "test"
        )
        var routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, _ in
            request.headers[.authorization].map { BackendUser(id: $0) }
        }
        routes.tokenLifetime = .seconds(settings.tokenLifetime)
        let router = Router()
        router.get("health") { _, _ in "ok" }
        routes.add(to: router)
        var logger = Logger(label: "backend")
        logger.logLevel = .notice
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("0.0.0.0", port: settings.port)),
            logger: logger
        )
        try await application.runService()
    }
}

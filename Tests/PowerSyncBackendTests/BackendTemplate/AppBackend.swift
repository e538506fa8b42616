import GRDB
import HTTPTypes
import Hummingbird
import PowerSyncBackend
import PowerSyncBackendHummingbird

/// The app's own back end: it takes what clients upload, and hands out tokens for the sync service.
struct AppBackend {
    private let database: DatabasePool
    private let signer: SyncTokenSigner

    /// Opens the database that the sync service watches.
    ///
    /// - Parameters:
    ///   - path: The file; `powersync dev` or `powersync serve` makes it with its tables.
    ///   - key: The key that tokens are signed with, a private JSON Web Key. `powersync.yaml` has its public half.
    ///   - audience: That of `client_auth` in `powersync.yaml`.
    /// - Throws: ``MissingTables``, or an error of the file or the key.
    init(path: String, key: String, audience: String) throws {
        var configuration = Configuration()
        // The sync service is another process at the same file.
        configuration.busyMode = .timeout(5)
        database = try DatabasePool(path: path, configuration: configuration)
        guard try database.read({ db in try db.tableExists("lists") && db.tableExists("todos") }) else {
            throw MissingTables(path: path)
        }
        signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: audience)
    }

    struct MissingTables: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) has no tables yet. Start the sync service once: powersync dev" }
    }

    /// `POST upload`, `POST token`, `GET jwks.json`, and `GET health` for whatever watches the process.
    func router() -> Router<BasicRequestContext> {
        let applier = SQLiteUploadApplier(database, authorize: Self.mayWrite)
        let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, _ in
            try await Self.signedInUser(request)
        }
        let router = Router()
        routes.add(to: router)
        router.get("health") { _, _ in HTTPResponse.Status.ok }
        return router
    }
}

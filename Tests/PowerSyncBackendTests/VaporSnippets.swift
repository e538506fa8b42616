#if canImport(Vapor)
import PowerSyncBackend
import Vapor

// What the page "A backend with Vapor" shows; Vapor is no dependency, so it is parsed only.

/// The routes for clients: uploads, tokens for the sync service, and the keys that these are checked with.
struct PowerSyncRoutes: RouteCollection {
    let applier: any UploadApplier
    let signer: SyncTokenSigner
    /// Finds out who wants a token, by the app's own session; `nil` for nobody.
    let signIn: @Sendable (Request) async throws -> BackendUser?

    func boot(routes: any RoutesBuilder) throws {
        // Streamed, so that nothing is read from strangers.
        routes.on(.POST, "upload", body: .stream) { request in try await upload(request) }
        routes.post("token") { request in try await token(request) }
        routes.get("jwks.json") { _ in json(ByteBuffer(string: signer.keySet)) }
    }

    private func upload(_ request: Request) async throws -> Response {
        let authorization = request.headers.first(name: .authorization)
        guard let user = try? await signer.verify(authorization: authorization) else { throw Abort(.unauthorized) }
        // A longer body is answered with 413, and the client sends less at once.
        let body = try await request.body.collect(max: 16 << 20).get() ?? ByteBuffer()
        do {
            let upload = try UploadRequest(json: Array(buffer: body))
            let response = try await applier.apply(upload, for: user)
            return json(ByteBuffer(bytes: response.json))
        } catch let error as UploadFormatError {
            throw Abort(.badRequest, reason: error.message)
        }
    }

    private func token(_ request: Request) async throws -> Response {
        guard let user = try await signIn(request) else { throw Abort(.unauthorized) }
        let token = try signer.token(userID: user.id, lifetime: .seconds(3600), claims: user.claims)
        return json(ByteBuffer(string: #"{"token":"\#(token.text)"}"#))
    }

    private func json(_ body: ByteBuffer) -> Response {
        Response(status: .ok, headers: ["Content-Type": "application/json"], body: .init(buffer: body))
    }
}

func configure(_ app: Application, applier: any UploadApplier, key: String) throws {
    let signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: "https://sync.example.com")
    try app.register(
        collection: PowerSyncRoutes(applier: applier, signer: signer) { request in
            // The user that a session middleware of the app has found.
            request.session.data["user_id"].map { BackendUser(id: $0) }
        }
    )
}
#endif

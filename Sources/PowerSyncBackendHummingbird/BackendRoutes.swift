import Foundation
import GRDB
import HTTPTypes
public import Hummingbird
import NIOCore
public import PowerSyncBackend
import PowerSyncUpload

/// The routes of a backend for clients: uploads, tokens for the sync service, and the keys that these are checked with.
///
/// ```swift
/// let router = Router()
/// let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, context in
///     try await sessions.user(of: request)  // nil: 401
/// }
/// routes.add(to: router)
/// ```
///
/// | Route | What it does |
/// | --- | --- |
/// | `POST upload` | applies an `UploadRequest` of the user, and answers with an `UploadResponse` |
/// | `POST token` | gives the user a token for the sync service: `{"token":…,"user_id":…,"expires_at":…}` |
/// | `GET jwks.json` | the public keys of the signer as a JSON Web Key Set |
///
/// `POST upload` accepts the tokens for the sync service, which is what `HTTPBackendConnector` sends unless it is told otherwise.
public struct BackendRoutes<Context: RequestContext>: Sendable {
    /// Finds out who sends a request; `nil` for nobody, which is answered with 401.
    public typealias Authentication = @Sendable (_ request: Request, _ context: Context) async throws -> BackendUser?

    /// The longest body of an upload, in bytes: 16 MiB.
    ///
    /// A longer one is answered with 413, and the client sends less at once.
    public var maximumBytes = 16 << 20
    /// How long tokens are valid: an hour.
    public var tokenLifetime = Duration.seconds(3600)
    /// Finds out who uploads; by the tokens for the sync service, unless it is replaced.
    public var authenticateUpload: Authentication

    private let applier: any UploadApplier
    private let signer: SyncTokenSigner
    private let signIn: Authentication?

    /// Creates routes.
    ///
    /// - Parameters:
    ///   - applier: Applies uploads.
    ///   - signer: Signs and checks tokens.
    ///   - signIn: Finds out who wants a token, by the app's own session; without it, there is no `POST token`.
    public init(applier: any UploadApplier, signer: SyncTokenSigner, signIn: Authentication? = nil) {
        self.applier = applier
        self.signer = signer
        self.signIn = signIn
        authenticateUpload = { request, _ in
            try? await signer.verify(authorization: request.headers[.authorization])
        }
    }

    /// Adds the routes.
    ///
    /// - Parameter router: A router, or a group of one.
    public func add(to router: some RouterMethods<Context>) {
        router.post("upload") { request, context in try await upload(request, context) }
        router.get("jwks.json") { _, _ in keySet() }
        if let signIn {
            router.post("token") { request, context in try await token(request, context, signIn) }
        }
    }

    private func upload(_ request: Request, _ context: Context) async throws -> Response {
        // Before the body, so that nothing is read from strangers.
        guard let user = try await authenticateUpload(request, context) else { throw HTTPError(.unauthorized) }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > maximumBytes {
            throw HTTPError(.contentTooLarge)
        }
        var request = request
        let body = try await request.collectBody(upTo: maximumBytes)
        do {
            let upload = try UploadRequest(json: body)
            let response = try await applier.apply(upload, for: user)
            return Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: response.json))
            )
        } catch let error as UploadFormatError {
            throw HTTPError(.badRequest, message: error.message)
        } catch is UploadTimeLimitError {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "The database takes too long.")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "The database is busy.")
        }
    }

    private func token(
        _ request: Request,
        _ context: Context,
        _ signIn: Authentication
    ) async throws -> TokenAnswer {
        guard let user = try await signIn(request, context) else { throw HTTPError(.unauthorized) }
        let token = try signer.token(userID: user.id, lifetime: tokenLifetime, claims: user.claims)
        return TokenAnswer(
            token: token.text,
            userID: user.id,
            expiresAt: Int64(token.expiresAt.timeIntervalSince1970)
        )
    }

    private func keySet() -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/jwk-set+json", .cacheControl: "max-age=300"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: signer.keySet))
        )
    }
}

/// What `POST token` answers.
private struct TokenAnswer: ResponseEncodable {
    private enum CodingKeys: String, CodingKey {
        case token
        case userID = "user_id"
        case expiresAt = "expires_at"
    }

    var token: String
    var userID: String
    /// In seconds since 1970.
    var expiresAt: Int64
}

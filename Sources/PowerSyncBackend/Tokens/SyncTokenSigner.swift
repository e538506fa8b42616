public import Foundation
import PowerSyncProtocol
import PowerSyncAuth
public import PowerSyncUpload

/// A token for the sync service.
///
/// ```swift
/// PowerSyncCredentials(endpoint: "https://sync.example.com", token: token.text)
/// ```
public struct SyncToken: Sendable, Hashable {
    /// The token, a JWT.
    public let text: String
    /// When it stops being accepted.
    public let expiresAt: Date
}

/// Signs tokens for the sync service, checks them, and publishes the keys that they are checked with.
///
/// ```swift
/// let signer = SyncTokenSigner(key: try SigningKey(jwk: secret), audience: "https://sync.example.com")
/// let token = try signer.token(userID: "u1")
/// signer.keySet  // {"keys":[{"kty":"EC","crv":"P-256","x":…,"y":…,"kid":"2026-11","alg":"ES256","use":"sig"}]}
/// ```
///
/// To change keys: publish the new one with ``init(key:otherKeys:audience:issuer:)`` while tokens are still signed with the old
/// one, exchange the two when every service has it, and drop the old one when its last token has expired.
public struct SyncTokenSigner: Sendable {
    /// The longest time for which the sync service accepts a token: a day.
    public static let longestLifetime = Duration.seconds(86_400)
    /// Claims that the signer makes.
    package static let ownClaims = ["sub", "aud", "iss", "iat", "exp", "nbf"]

    private let key: SigningKey
    private let otherKeys: [SigningKey]
    private let audience: String
    private let issuer: String?

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: What tokens are signed with.
    ///   - otherKeys: Keys of before and after, of which tokens are accepted.
    ///   - audience: The audience of the tokens, `aud`; the sync service must be configured with it.
    ///   - issuer: Who issues the tokens, `iss`, if that is to be in them.
    public init(key: SigningKey, otherKeys: [SigningKey] = [], audience: String, issuer: String? = nil) {
        self.key = key
        self.otherKeys = otherKeys
        self.audience = audience
        self.issuer = issuer
    }

    /// Signs a token.
    ///
    /// The clock of the sync service may differ by a minute.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim: `auth.user_id()` in sync configs.
    ///   - lifetime: How long it is valid, a day at most; clients get a new one in time.
    ///   - claims: More claims, for `auth.parameter(…)` in sync configs and for the backend itself.
    ///   - now: The time of issue.
    /// - Returns: The token.
    /// - Throws: ``TokenError``.
    public func token(
        userID: String,
        lifetime: Duration = .seconds(3600),
        claims: JsonParam = [:],
        now: Date = Date()
    ) throws(TokenError) -> SyncToken {
        guard lifetime >= .seconds(1), lifetime <= Self.longestLifetime else {
            throw TokenError(.lifetime, "a token must be valid for 1 to 86400 seconds, not \(lifetime)")
        }
        if let own = Self.ownClaims.first(where: { claims[$0] != nil }) {
            throw TokenError(.claim, "the claim \"\(own)\" is made by the signer")
        }
        var payload = JSONObject(claims)
        guard !payload.hasNonFiniteNumber else {
            throw TokenError(.claim, "a claim has a number that JSON does not have")
        }
        let seconds = now.timeIntervalSince1970.rounded(.down)
        guard let issuedAt = Int64(exactly: seconds) else { throw TokenError(.lifetime, "\(now) is no time of issue") }
        let expiresAt = issuedAt + lifetime.components.seconds
        payload["sub"] = .string(userID)
        payload["aud"] = .string(audience)
        if let issuer { payload["iss"] = .string(issuer) }
        payload["iat"] = .integer(issuedAt)
        payload["exp"] = .integer(expiresAt)
        var header: JSONObject = ["alg": .string(key.algorithm.rawValue), "typ": "JWT"]
        if let id = key.id { header["kid"] = .string(id) }
        let input = "\(Base64URL.encode(Array(header.text.utf8))).\(Base64URL.encode(Array(payload.text.utf8)))"
        let signature = try key.sign(Array(input.utf8))
        return SyncToken(
            text: "\(input).\(Base64URL.encode(signature))",
            expiresAt: Date(timeIntervalSince1970: TimeInterval(expiresAt))
        )
    }

    /// The public keys as a JSON Web Key Set (RFC 7517), for the sync service.
    ///
    /// Shared secrets are not among them: they are part of the configuration of the sync service.
    public var keySet: String {
        "{\"keys\":[\(([key] + otherKeys).compactMap(\.publicJWK).joined(separator: ","))]}"
    }

    /// Checks the value of an `Authorization` header: `Bearer …` or `Token …` with a token of this signer.
    ///
    /// - Parameters:
    ///   - header: The value; `nil` when the request has none.
    ///   - now: The time, which may differ by a minute from that of issue.
    /// - Returns: Whose token it is.
    /// - Throws: ``TokenError`` with code ``TokenError/Code/refused``.
    public func verify(authorization header: String?, now: Date = Date()) async throws(TokenError) -> BackendUser {
        var keys: [JSONWebKey] = []
        for key in [key] + otherKeys { keys.append(try key.verifying) }
        let verifier = TokenVerifier(keys: keys, audience: [audience])
        let token: VerifiedToken
        do {
            token = try await verifier.verify(authorization: header, now: now.timeIntervalSince1970)
        } catch {
            throw TokenError(.refused, error.description)
        }
        return BackendUser(id: token.userID, claims: JsonParam(token.payload))
    }
}

public import Foundation
import PowerSyncProtocol

/// Makes tokens for development (docs/service.md "Authentication").
struct DevelopmentTokenSigner: Sendable {
    /// The key, one with a shared secret.
    let key: JSONWebKey
    /// The audience of the tokens.
    let audience: String

    /// A signer with the first configured shared secret.
    ///
    /// - Returns: `nil` when only public keys are configured, or no audience.
    init?(_ authentication: ClientAuthentication) {
        guard
            let key = authentication.keys.map(\.key).first(where: { $0.type == .symmetric }),
            let audience = authentication.audience.first
        else { return nil }
        self.key = key
        self.audience = audience
    }

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim.
    ///   - lifetime: How long it is valid, in seconds.
    ///   - now: The time in seconds since 1970.
    /// - Returns: The token, and its `exp` claim.
    func token(userID: String, lifetime: Int64, now: Double) -> (token: String, expiresAt: Int64) {
        let issuedAt = Int64(now.rounded(.down))
        var header: JSONObject = ["alg": .string((key.algorithm ?? .hs256).rawValue), "typ": "JWT"]
        if let id = key.id { header["kid"] = .string(id) }
        let payload: JSONObject = [
            "sub": .string(userID), "aud": .string(audience), "iss": "powersync-dev",
            "iat": .integer(issuedAt), "exp": .integer(issuedAt + lifetime),
        ]
        let input = "\(Base64URL.encode(Array(header.text.utf8))).\(Base64URL.encode(Array(payload.text.utf8)))"
        let signature = key.sign(Array(input.utf8))?.signature ?? []
        return ("\(input).\(Base64URL.encode(signature))", issuedAt + lifetime)
    }
}

extension ServiceConfiguration {
    /// Signs a token for a user with the first configured shared secret.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim.
    ///   - lifetime: How long the token is valid, at most 24 hours.
    ///   - now: The time of issue.
    /// - Returns: The token. Clients present it as `Authorization: Token …`.
    /// - Throws: `ServiceError` with code `missingKey` when there is no such key or no audience,
    ///   `invalidConfiguration` when the service would reject the lifetime.
    public func makeDevelopmentToken(
        userID: String,
        lifetime: Duration = .seconds(12 * 3600),
        now: Date = Date()
    ) throws(ServiceError) -> String {
        guard let signer = DevelopmentTokenSigner(authentication) else {
            throw ServiceError(
                .missingKey,
                "signing tokens needs a key of type oct and an audience; "
                    + "add client_auth.jwks.keys and client_auth.audience"
            )
        }
        guard lifetime > .zero, lifetime <= .seconds(TokenVerifier.maximumLifetime) else {
            throw ServiceError(.invalidConfiguration, "a token must be valid for 1 to 86400 seconds, not \(lifetime)")
        }
        return signer.token(
            userID: userID,
            lifetime: lifetime.components.seconds,
            now: now.timeIntervalSince1970
        ).token
    }
}

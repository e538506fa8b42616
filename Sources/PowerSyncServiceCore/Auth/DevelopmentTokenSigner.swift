package import PowerSyncProtocol

/// Makes tokens for development (docs/service.md "Authentication").
package struct DevelopmentTokenSigner: Sendable {
    /// The key, one with a shared secret.
    package let key: JSONWebKey
    /// The audience of the tokens.
    package let audience: String

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: A key with a shared secret.
    ///   - audience: The audience of the tokens.
    package init(key: JSONWebKey, audience: String) {
        self.key = key
        self.audience = audience
    }

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim.
    ///   - claims: Further claims; those that every token has stay as they are.
    ///   - lifetime: How long it is valid, in seconds.
    ///   - now: The time in seconds since 1970.
    /// - Returns: The token, and its `exp` claim.
    package func token(
        userID: String,
        claims: JSONObject = [:],
        lifetime: Int64,
        now: Double
    ) -> (token: String, expiresAt: Int64) {
        let issuedAt = Int64(now.rounded(.down))
        var header: JSONObject = ["alg": .string((key.algorithm ?? .hs256).rawValue), "typ": "JWT"]
        if let id = key.id { header["kid"] = .string(id) }
        var payload: JSONObject = [
            "sub": .string(userID), "aud": .string(audience), "iss": "powersync-dev",
            "iat": .integer(issuedAt), "exp": .integer(issuedAt + lifetime),
        ]
        for claim in claims.members where payload[claim.name] == nil { payload[claim.name] = claim.value }
        let input = "\(Base64URL.encode(Array(header.text.utf8))).\(Base64URL.encode(Array(payload.text.utf8)))"
        let signature = key.sign(Array(input.utf8))?.signature ?? []
        return ("\(input).\(Base64URL.encode(signature))", issuedAt + lifetime)
    }
}

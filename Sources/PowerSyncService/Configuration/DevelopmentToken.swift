public import Foundation
import PowerSyncBackend
package import PowerSyncProtocol
import PowerSyncAuth
import PowerSyncUpload

extension SyncTokenSigner {
    /// A signer with the first configured shared secret, or else with the secret of a Supabase project, for development.
    ///
    /// - Returns: `nil` when only public keys are configured, or no audience.
    init?(_ authentication: ClientAuthentication) {
        if let key = authentication.keys.lazy.compactMap({ SigningKey($0.key) }).first,
            let audience = authentication.audience.first
        {
            self.init(key: key, audience: audience, issuer: "powersync-dev")
        } else if let key = authentication.supabaseKey.flatMap({ SigningKey($0) }) {
            self.init(key: key, audience: ClientAuthentication.supabaseAudience, issuer: "powersync-dev")
        } else {
            return nil
        }
    }
}

extension ServiceConfiguration {
    /// Signs a token for a user with the first configured shared secret, or else with that of a Supabase project.
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
        try makeDevelopmentToken(userID: userID, claims: [:], lifetime: lifetime, now: now)
    }

    /// Signs a token with more claims; see ``makeDevelopmentToken(userID:lifetime:now:)``.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim.
    ///   - claims: Other claims than those that every token has.
    ///   - lifetime: How long the token is valid.
    ///   - now: The time of issue.
    /// - Returns: The token.
    /// - Throws: As there; also for a claim that every token has.
    package func makeDevelopmentToken(
        userID: String,
        claims: JSONObject,
        lifetime: Duration,
        now: Date = Date()
    ) throws(ServiceError) -> String {
        guard let signer = SyncTokenSigner(authentication) else {
            throw ServiceError(
                .missingKey,
                "signing tokens needs a key of type oct and an audience; "
                    + "add client_auth.jwks.keys and client_auth.audience, or supabase: true with supabase_jwt_secret"
            )
        }
        do {
            return try signer.token(userID: userID, lifetime: lifetime, claims: JsonParam(claims), now: now).text
        } catch {
            throw ServiceError(.invalidConfiguration, error.message)
        }
    }
}

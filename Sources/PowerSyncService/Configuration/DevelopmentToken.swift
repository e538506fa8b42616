public import Foundation
import PowerSyncBackend
import PowerSyncTokens

extension SyncTokenSigner {
    /// A signer with the first configured shared secret, for development.
    ///
    /// - Returns: `nil` when only public keys are configured, or no audience.
    init?(_ authentication: ClientAuthentication) {
        guard
            let key = authentication.keys.lazy.compactMap({ SigningKey($0.key) }).first,
            let audience = authentication.audience.first
        else { return nil }
        self.init(key: key, audience: audience, issuer: "powersync-dev")
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
        guard let signer = SyncTokenSigner(authentication) else {
            throw ServiceError(
                .missingKey,
                "signing tokens needs a key of type oct and an audience; "
                    + "add client_auth.jwks.keys and client_auth.audience"
            )
        }
        do {
            return try signer.token(userID: userID, lifetime: lifetime, now: now).text
        } catch {
            throw ServiceError(.invalidConfiguration, error.message)
        }
    }
}

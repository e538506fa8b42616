package import PowerSyncProtocol

/// Why a token is rejected (docs/service.md "Authentication").
///
/// Always HTTP 401.
package struct AuthorizationError: Error, Equatable {
    /// One of the `PSYNC_S21xx` codes.
    package var code: ErrorCode
    /// What the client is told.
    package var description: String
    /// What is only logged: the algorithm and key id of the token, the ids of the configured keys.
    ///
    /// Never the token.
    package var logDetails: String?

    package init(_ code: ErrorCode, _ description: String, logDetails: String? = nil) {
        self.code = code
        self.description = description
        self.logDetails = logDetails
    }

    /// There is no token, or it is not presented as `Token …` or `Bearer …`.
    static let missingToken = AuthorizationError(.tokenMissing, "Authentication required")
    /// The text is not a token.
    static let malformedToken = AuthorizationError(
        .authentication,
        "Token is not a well-formed JWT. Check the token format."
    )

    /// A claim is missing.
    static func missingClaim(_ name: String, code: ErrorCode = .authentication) -> AuthorizationError {
        AuthorizationError(code, "JWT payload is missing a required claim \"\(name)\"")
    }
}

extension AuthorizationError {
    /// `PSYNC_S2204`: a key set could not be fetched.
    ///
    /// - Parameter reason: What happened, for the log.
    /// - Returns: The error.
    package static func keySetRequest(_ reason: String) -> AuthorizationError {
        AuthorizationError(.keySetRequest, "JWKS request failed", logDetails: reason)
    }
}

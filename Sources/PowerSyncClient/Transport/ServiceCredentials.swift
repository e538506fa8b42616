package import PowerSyncHTTP

/// A checked endpoint and a token for it.
package struct ServiceCredentials: Sendable, Equatable {
    /// The service.
    package var endpoint: ServiceEndpoint
    /// The JWT.
    ///
    /// Sent to the endpoint only, never logged.
    package var token: String
    /// What the app adds to each request.
    package var additionalHeaders: [String: String] = [:]
    /// The authorities that may have signed the certificate of the service; `nil` for those that the system trusts.
    package var trustedAuthorities: TrustedAuthorities?
    /// What sends HTTP requests; `nil` for the transport's own.
    package var httpClient: PowerSyncHTTPClient?

    /// Creates credentials.
    package init(endpoint: ServiceEndpoint, token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    /// Checks what a connector returned.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there are no credentials, the
    ///   endpoint is not a URL, or the token is empty or cannot be sent.
    package init(_ credentials: PowerSyncCredentials?) throws(PowerSyncError) {
        guard let credentials else {
            throw .noCredentials
        }
        guard !credentials.token.isEmpty else {
            throw .emptyToken
        }
        guard credentials.token.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw .unprintableToken
        }
        self.init(endpoint: try ServiceEndpoint(credentials.endpoint), token: credentials.token)
    }
}

extension ServiceCredentials: CustomStringConvertible {
    /// The endpoint.
    ///
    /// The token is left out.
    package var description: String { "\(endpoint) (token redacted)" }
}

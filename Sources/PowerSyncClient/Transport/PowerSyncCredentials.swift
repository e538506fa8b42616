/// The address of a sync service and a token for it.
public struct PowerSyncCredentials: Codable, Sendable {
    /// The base URL of the service, for example `https://sync.example.com`.
    ///
    /// May have a path.
    public let endpoint: String
    /// The JWT that the service checks.
    ///
    /// Never logged.
    public let token: String
    /// Unused, always `nil`.
    @available(*, deprecated, message: "The service reads the user from the token.")
    public var userId: String? { nil }

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - endpoint: The base URL of the service.
    ///   - token: The JWT that the service checks.
    public init(endpoint: String, token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    /// Creates credentials; `userId` is ignored.
    ///
    /// - Parameters:
    ///   - endpoint: The base URL of the service.
    ///   - token: The JWT that the service checks.
    ///   - userId: Ignored.
    @available(*, deprecated, message: "Use init(endpoint:token:); the service reads the user from the token.")
    public init(endpoint: String, token: String, userId: String? = nil) {
        self.init(endpoint: endpoint, token: token)
    }

    /// The address of a path on the service: `<endpoint>/<path>`.
    ///
    /// - Parameter path: The path, without a leading slash.
    /// - Returns: The address, not checked in any way.
    public func endpointUri(path: String) -> String {
        "\(endpoint)/\(path)"
    }
}

extension PowerSyncCredentials: CustomStringConvertible, CustomDebugStringConvertible {
    /// The endpoint.
    ///
    /// The token is left out.
    public var description: String {
        "PowerSyncCredentials(endpoint: \(endpoint), token: <redacted>)"
    }

    /// The same as ``description``, so that a dump does not show the token either.
    public var debugDescription: String { description }
}

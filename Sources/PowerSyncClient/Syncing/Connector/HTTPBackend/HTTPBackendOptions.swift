public import Foundation
public import PowerSyncHTTP

/// How an ``HTTPBackendConnector`` uploads.
///
/// ```swift
/// var options = HTTPBackendOptions()
/// options.headers = ["X-Tenant": "north"]
/// options.maximumEntries = 200
/// ```
public struct HTTPBackendOptions: Sendable {
    /// The most writes of one request, unless a single transaction has more: 1,000.
    ///
    /// Transactions are never divided.
    public var maximumEntries = 1_000
    /// The most bytes of one request, unless a single transaction has more: 1 MiB.
    ///
    /// When a backend answers 413 or 408, or not in time, the connector sends less by itself, down to single transactions, and
    /// then more again.
    public var maximumBytes = 1 << 20
    /// How long the backend may take to answer, in seconds: 60.
    ///
    /// The request is sent in that time, too. A large one has longer: a second more for each 4 KiB.
    public var timeout: TimeInterval = 60
    /// The longest `Retry-After` that is obeyed, in seconds: 600.
    ///
    /// Without a limit, one wrong answer could stop uploads for years.
    public var longestRetryAfter: TimeInterval = 600
    /// Header fields of each request.
    ///
    /// `Authorization`, `Content-Type` and `User-Agent` are the connector's.
    public var headers: [String: String] = [:]
    /// The only authorities whose certificates the backend may have; `nil` for those that the system trusts.
    public var trustedAuthorities: TrustedAuthorities?

    /// What sends the requests; `PowerSyncHTTPClient.nio`, whatever this says, with ``trustedAuthorities``.
    ///
    /// On Apple platforms it has to be `nio` when there are ``trustedAuthorities`` (product `PowerSyncNIO`), or requests fail.
    public var httpClient = PowerSyncHTTPClient.standard

    /// Creates options with the defaults.
    public init() {}
}

extension HTTPBackendOptions {
    /// Checks the options, before anything happens with them.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` with the option in its message.
    func validate() throws {
        guard maximumEntries > 0 else {
            throw PowerSyncError.tooSmall("maximumEntries", maximumEntries)
        }
        guard maximumBytes > 0 else {
            throw PowerSyncError.tooSmall("maximumBytes", maximumBytes)
        }
        try Argument.check(seconds: timeout, "timeout")
        try Argument.check(seconds: longestRetryAfter, "longestRetryAfter")
    }
}

public import PowerSyncHTTP

#if canImport(Darwin)
public import Foundation
import PowerSyncURLSession
#endif

/// Settings of the network client.
public struct SyncClientConfiguration: Sendable {
    /// How requests to the sync service are logged; `nil` means not at all.
    public let requestLogger: SyncRequestLoggerConfiguration?
    /// What sends HTTP requests to the sync service.
    ///
    /// With ``SyncTransportMethod/webSocket``, sync lines do not go through it; its additional headers are sent all the same.
    public var httpClient: PowerSyncHTTPClient
    /// How sync lines travel from the service to the database.
    public let transport: SyncTransportMethod
    /// The only authorities whose certificates the sync service may have; `nil` for those that the system trusts.
    ///
    /// With authorities, `PowerSyncHTTPClient.nio` sends the requests, whatever ``httpClient`` is; on Apple platforms ``httpClient`` has to
    /// be it (product `PowerSyncNIO`), or requests over HTTP fail.
    public var trustedAuthorities: TrustedAuthorities?

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - requestLogger: How requests to the sync service are logged; `nil` means not at all.
    ///   - httpClient: What sends HTTP requests to the sync service.
    ///   - transport: How sync lines travel from the service to the database.
    ///   - trustedAuthorities: The only authorities whose certificates the sync service may have; `nil` for those that
    ///     the system trusts.
    public init(
        requestLogger: SyncRequestLoggerConfiguration? = nil,
        httpClient: PowerSyncHTTPClient = .standard,
        transport: SyncTransportMethod = .http,
        trustedAuthorities: TrustedAuthorities? = nil
    ) {
        self.requestLogger = requestLogger
        self.httpClient = httpClient
        self.transport = transport
        self.trustedAuthorities = trustedAuthorities
    }

    #if canImport(Darwin)
    /// What gives ``httpClient`` its configuration, if it was made with one.
    public var urlSession: URLSession = .shared {
        didSet { httpClient = .urlSession(urlSession) }
    }

    /// Creates a configuration that sends HTTP requests as a session is configured to.
    ///
    /// Where `URLSession` is not a part of the system, import `PowerSyncURLSession` and pass
    /// `httpClient: .urlSession(session)`, which works everywhere.
    ///
    /// - Parameters:
    ///   - requestLogger: How requests to the sync service are logged; `nil` means not at all.
    ///   - urlSession: Its configuration counts. The session itself does not take part, nor does its delegate.
    ///   - transport: How sync lines travel from the service to the database.
    ///   - trustedAuthorities: The only authorities whose certificates the sync service may have; `nil` for those that
    ///     the system trusts.
    public init(
        requestLogger: SyncRequestLoggerConfiguration? = nil,
        urlSession: URLSession,
        transport: SyncTransportMethod = .http,
        trustedAuthorities: TrustedAuthorities? = nil
    ) {
        self.init(
            requestLogger: requestLogger,
            httpClient: .urlSession(urlSession),
            transport: transport,
            trustedAuthorities: trustedAuthorities
        )
        self.urlSession = urlSession
    }
    #endif
}

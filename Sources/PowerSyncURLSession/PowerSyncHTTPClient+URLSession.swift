public import PowerSyncHTTP

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension PowerSyncHTTPClient {
    /// Sends requests with `URLSession`, in sessions with the configuration of the app's.
    ///
    /// ```swift
    /// import PowerSync
    /// import PowerSyncURLSession
    ///
    /// let configuration = URLSessionConfiguration.default
    /// configuration.httpAdditionalHeaders = ["X-Tenant": "north"]
    /// let session = URLSession(configuration: configuration)
    /// options.clientConfiguration = SyncClientConfiguration(httpClient: .urlSession(session))
    /// ```
    ///
    /// The configuration counts, the session itself does not take part: it may be invalidated, its delegate hears of nothing,
    /// and its delegate queue is left alone. Proxies, cookies, credentials, protocol classes, TLS versions, and what is allowed over
    /// cellular, expensive and constrained networks are as configured. Not as configured are time-outs (the SDK has its own, and
    /// a sync stream goes on for hours), the cache (there is none), and those additional headers that the SDK sets itself. Redirects
    /// are not followed where a token would go with them.
    ///
    /// Keep the client, and use it everywhere: its requests share connections.
    ///
    /// - Parameter session: Gives the configuration. One for the background gives its additional headers only.
    /// - Returns: The client.
    public static func urlSession(_ session: URLSession) -> PowerSyncHTTPClient {
        PowerSyncHTTPClient(URLSessionExchange(session.configuration))
    }

    /// Sends requests with `URLSession`, configured by default.
    public static let urlSession = PowerSyncHTTPClient(URLSessionExchange(.default))
}

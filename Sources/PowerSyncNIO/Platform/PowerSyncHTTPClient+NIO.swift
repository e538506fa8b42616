#if canImport(Darwin)
public import PowerSyncHTTP

extension PowerSyncHTTPClient {
    /// Sends requests with SwiftNIO, the same on every platform.
    ///
    /// ```swift
    /// import PowerSync
    /// import PowerSyncNIO
    ///
    /// options.clientConfiguration = SyncClientConfiguration(trustedAuthorities: authorities, httpClient: .nio)
    /// ```
    ///
    /// It knows no proxies, cookies or network policies. Certificates are checked with the authorities that the system trusts, or
    /// with `TrustedAuthorities`. On other platforms than Apple's it comes with `PowerSync`, and this module adds nothing.
    public static let nio = PowerSyncHTTPClient(NIOExchange.shared)
}
#endif

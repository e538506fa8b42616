// Apps write its name in options of this module.
@_exported public import PowerSyncHTTP

#if canImport(Darwin)
import PowerSyncURLSession
#endif

extension PowerSyncHTTPClient {
    /// Sends requests with SwiftNIO, the same on every platform.
    ///
    /// It knows no proxies, cookies or network policies. Certificates are checked with the authorities that the system trusts, or
    /// with ``TrustedAuthorities``.
    public static let nio = PowerSyncHTTPClient(NIOExchange.shared)

    /// What sends requests when an app says nothing: `urlSession` on Apple platforms, ``nio`` elsewhere.
    public static var standard: PowerSyncHTTPClient {
        #if canImport(Darwin)
        .urlSession
        #else
        .nio
        #endif
    }

    /// Sends requests to a service, a backend or a storage with certificates of these authorities.
    ///
    /// Only ``nio`` can trust others than the system does.
    ///
    /// - Parameter authorities: Who may have signed certificates; `nil` for those that the system trusts.
    /// - Returns: What sends them.
    func exchange(trusting authorities: TrustedAuthorities?) -> any HTTPExchange {
        authorities.map { NIOExchange.shared.trusting($0) } ?? exchange
    }
}

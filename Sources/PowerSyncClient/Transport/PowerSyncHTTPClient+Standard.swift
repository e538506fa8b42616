// Apps write its name in options of this module.
@_exported public import PowerSyncHTTP

#if canImport(Darwin)
import PowerSyncURLSession
#endif
#if !canImport(Darwin)
import CPowerSyncNIO
#endif

extension PowerSyncHTTPClient {
    #if canImport(Darwin)
    /// What sends requests when an app says nothing: `urlSession` on Apple platforms, `nio` elsewhere.
    public static var standard: PowerSyncHTTPClient { .urlSession }

    /// What can trust other authorities than the system does.
    private static var trustingExchange: any HTTPExchange { UntrustingExchange.shared }
    #else
    /// Sends requests with SwiftNIO.
    ///
    /// It knows no proxies, cookies or network policies. Certificates are checked with the authorities that the system trusts, or
    /// with ``TrustedAuthorities``. On Apple platforms it is in a product of its own, `PowerSyncNIO`.
    public static let nio = PowerSyncHTTPClient(linkedExchange())

    /// What sends requests when an app says nothing: `urlSession` on Apple platforms, ``nio`` elsewhere.
    public static var standard: PowerSyncHTTPClient { .nio }

    /// What can trust other authorities than the system does.
    private static var trustingExchange: any HTTPExchange { nio.exchange }

    /// The exchange of `PowerSyncNIO`, which is linked and not imported: apps see the members of every module that is imported here.
    private static func linkedExchange() -> any HTTPExchange {
        guard
            let exchange = unsafe Unmanaged<AnyObject>.fromOpaque(powersync_nio_exchange()).takeRetainedValue()
                as? any HTTPExchange
        else { preconditionFailure("PowerSyncNIO gives something else than an exchange") }
        return exchange
    }
    #endif

    /// Sends requests to a service, a backend or a storage with certificates of these authorities.
    ///
    /// Only `nio` can trust others than the system does.
    ///
    /// - Parameter authorities: Those that may have signed certificates; `nil` for those that the system trusts.
    /// - Returns: What sends them.
    func exchange(trusting authorities: TrustedAuthorities?) -> any HTTPExchange {
        guard let configuration = authorities?.tlsConfiguration else { return exchange }
        let trustingExchange = Self.trustingExchange
        return exchange.trusting(configuration) ?? trustingExchange.trusting(configuration) ?? trustingExchange
    }
}

#if canImport(Darwin)
/// Fails every request: `URLSession` trusts the authorities of the system, and what could trust others is not linked.
private final class UntrustingExchange: HTTPExchange {
    static let shared = UntrustingExchange()

    let additionalHeaders: [String: String] = [:]

    func send(_ request: HTTPExchangeRequest) async throws -> HTTPExchangeResponse {
        throw PowerSyncError.noClientForAuthorities
    }
}
#endif

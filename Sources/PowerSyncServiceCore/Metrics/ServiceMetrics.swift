import Metrics
package import PowerSyncProtocol

/// The metrics of a process that have no other owner: answers, refused tokens, the build.
package struct ServiceMetrics: Sendable {
    /// The metrics of the process.
    package static let shared = ServiceMetrics()

    /// The codes with which a token is refused.
    private static let tokenCodes: [ErrorCode] = [
        .authentication, .tokenSignature, .tokenExpired, .tokenLifetime, .tokenAudience, .tokenMissing,
        .authenticationConfiguration, .keySetRequest,
    ]

    /// By status class, 1xx first.
    private let responses: [Counter]
    private let refusedTokens: [ErrorCode: Counter]
    private let factory: any MetricsFactory

    /// Makes the metrics exist, with 0.
    ///
    /// - Parameter factory: Makes them.
    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        responses = (1...5).map { digit in
            Counter(
                label: "powersync_http_responses_total",
                dimensions: [("status", "\(digit)xx")],
                factory: factory
            )
        }
        refusedTokens = Dictionary(
            uniqueKeysWithValues: Self.tokenCodes.map { code in
                (
                    code,
                    Counter(
                        label: "powersync_refused_tokens_total",
                        dimensions: [("code", code.rawValue)],
                        factory: factory
                    )
                )
            }
        )
    }

    /// Makes all metrics of a service that serves clients exist, with 0.
    package static func register() {
        _ = shared
        ClientStreamStatistics.register()
        LineMemory.register()
    }

    /// An HTTP request was answered.
    ///
    /// - Parameter status: The status, 100 to 599.
    package func didAnswer(status: Int) {
        let index = status / 100 - 1
        if responses.indices.contains(index) { responses[index].increment() }
    }

    /// A token was refused, over HTTP or WebSocket, of a client or of the admin API.
    ///
    /// - Parameter code: The code of the refusal; one that is not known to be of a token counts as `PSYNC_S2101`.
    package func didRefuseToken(_ code: ErrorCode) {
        (refusedTokens[code] ?? refusedTokens[.authentication])?.increment()
    }

    /// Shows which build runs.
    ///
    /// - Parameter version: The version of the package, such as `0.1.0`.
    package func recordBuild(version: String) {
        Gauge(label: "powersync_build_info", dimensions: [("version", version)], factory: factory).record(1)
    }
}

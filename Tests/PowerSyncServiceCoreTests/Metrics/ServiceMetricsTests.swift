import PowerSyncProtocol
import Prometheus
import Testing

@testable import PowerSyncServiceCore

/// Metrics of answers, tokens and the build (docs/service.md "Metrics and logs").
@Suite struct ServiceMetricsTests {
    private let registry = PrometheusCollectorRegistry()

    /// The series that are not 0.
    private var counted: [String] {
        var bytes: [UInt8] = []
        registry.emit(into: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") && !$0.hasSuffix(" 0") }.sorted()
    }

    @Test func answersAreCountedByTheirClass() {
        let metrics = ServiceMetrics(factory: PrometheusMetricsFactory(registry: registry))
        #expect(counted == [])
        for status in [200, 204, 304, 400, 401, 429, 500, 503, 0, 99, 600, -1] { metrics.didAnswer(status: status) }
        #expect(
            counted == [
                #"powersync_http_responses_total{status="2xx"} 2"#, #"powersync_http_responses_total{status="3xx"} 1"#,
                #"powersync_http_responses_total{status="4xx"} 3"#, #"powersync_http_responses_total{status="5xx"} 2"#,
            ]
        )
    }

    @Test func refusedTokensAreCountedByTheirCode() {
        let metrics = ServiceMetrics(factory: PrometheusMetricsFactory(registry: registry))
        for code in [ErrorCode.tokenExpired, .tokenExpired, .tokenMissing, ErrorCode(rawValue: "made up")] {
            metrics.didRefuseToken(code)
        }
        #expect(
            counted == [
                #"powersync_refused_tokens_total{code="PSYNC_S2101"} 1"#,
                #"powersync_refused_tokens_total{code="PSYNC_S2103"} 2"#,
                #"powersync_refused_tokens_total{code="PSYNC_S2106"} 1"#,
            ]
        )
    }

    @Test func theBuildHasItsVersion() {
        ServiceMetrics(factory: PrometheusMetricsFactory(registry: registry)).recordBuild(version: "1.2.3")
        #expect(counted.count == 1 && counted[0].hasPrefix(#"powersync_build_info{version="1.2.3"} 1"#), "\(counted)")
    }

    @Test func aCheckpointIsAsOldAsItsOldestTransaction() {
        var lag = ReplicationLag()
        #expect(lag.didPublish(at: 50) == nil)
        lag.didBegin(committedAt: 100)
        lag.didBegin(committedAt: 103)
        #expect(lag.didPublish(at: 104) == 4)
        #expect(lag.seconds(at: 104) == 1)
        #expect(lag.didPublish(at: 110) == nil)
    }
}

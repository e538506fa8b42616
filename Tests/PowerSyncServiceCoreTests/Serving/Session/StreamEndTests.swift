import PowerSyncProtocol
import Prometheus
import Testing

@testable import PowerSyncServiceCore

/// What `powersync_sync_connections_total` says of the end of a stream (docs/service.md "Metrics and logs").
@Suite struct StreamEndTests {
    private struct Failure: Error {}

    /// The series of the metric after something was counted.
    private static func series(_ count: (PrometheusMetricsFactory) -> Void) -> [String] {
        let registry = PrometheusCollectorRegistry()
        count(PrometheusMetricsFactory(registry: registry))
        var bytes: [UInt8] = []
        registry.emit(into: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init).filter {
            !$0.hasPrefix("#")
        }
    }

    /// Ends of streams, and their labels.
    private static let ends: [(LineQueue.End?, outcome: String, reason: String)] = [
        (.clientClosed, "completed", "client closing stream"), (.completed, "completed", "service closing stream"),
        (.shutdown, "completed", "process shutdown"), (.unread, "failed", "client not reading"),
        (.failed(Failure()), "failed", "stream error"), (nil, "failed", "unknown"),
    ]

    @Test func everyEndHasItsLabels() throws {
        for (end, outcome, reason) in Self.ends {
            for transport in StreamTransport.allCases {
                let series = Self.series { StreamEnd(end).count(nil, transport, factory: $0) }
                #expect(series.count == 1)
                let line = try #require(series.first)
                #expect(line.hasPrefix("powersync_sync_connections_total{") && line.hasSuffix("} 1"), "\(line)")
                for label in [
                    #"outcome="\#(outcome)""#, #"reason="\#(reason)""#, #"code="none""#,
                    #"transport="\#(transport.rawValue)""#,
                ] {
                    #expect(line.contains(label), "\(line)")
                }
            }
        }
    }

    @Test func aRefusalHasTheCodeOfItsError() throws {
        let series = Self.series { StreamEnd.refusal.count(.bucketLimit, .webSocket, factory: $0) }
        let line = try #require(series.first)
        #expect(line.contains(#"outcome="refused""#) && line.contains(#"code="PSYNC_S2305""#), "\(line)")
        #expect(line.contains(#"transport="websocket""#), "\(line)")
    }

    @Test func theMetricIsThereBeforeTheFirstStream() {
        let series = Self.series { StreamEnd.register(factory: $0) }
        #expect(series.count == 6 && series.allSatisfy { $0.hasSuffix("} 0") }, "\(series)")
    }
}

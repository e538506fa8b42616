import AsyncHTTPClient
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import Prometheus
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// `GET /metrics` (docs/service.md "Metrics and logs").
@Suite(.timeLimit(.minutes(1))) struct MetricsEndpointTests {
    private static var logger: Logger {
        var logger = Logger(label: "metrics") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        return logger
    }

    /// Runs an endpoint on a free port.
    private static func run(
        _ registry: PrometheusCollectorRegistry,
        logger: Logger = logger,
        _ body: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream<Int>.makeStream()
        let endpoint = MetricsEndpoint(host: "127.0.0.1", port: 0, registry: registry, logger: logger) {
            port.yield($0)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await endpoint.run() }
            for await port in ports {
                try await body("http://127.0.0.1:\(port)")
                break
            }
            group.cancelAll()
        }
    }

    private static func get(_ url: String) async throws -> (status: UInt, text: String) {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
        return (response.status.code, String(buffer: try await response.body.collect(upTo: 1 << 20)))
    }

    @Test func whatIsRecordedIsShown() async throws {
        let registry = PrometheusCollectorRegistry()
        let factory = PrometheusMetricsFactory(registry: registry)
        factory.makeCounter(label: "powersync_rows_replicated_total", dimensions: []).increment(by: 7)
        factory.makeMeter(label: "powersync_concurrent_connections", dimensions: []).increment(by: 2)
        try await Self.run(registry) { url in
            let (status, text) = try await Self.get(url + "/metrics")
            #expect(status == 200)
            let lines = text.split(separator: "\n")
            #expect(lines.contains("# TYPE powersync_rows_replicated_total counter"))
            #expect(lines.contains("powersync_rows_replicated_total 7"))
            #expect(lines.contains { $0.hasPrefix("powersync_concurrent_connections 2") })
            #expect(try await Self.get(url + "/").status == 404)
            #expect(try await Self.get(url + "/sync/stream").status == 404)
        }
    }

    @Test func itsPortIsSaidOnce() async throws {
        let log = CollectedLog()
        try await Self.run(PrometheusCollectorRegistry(), logger: log.logger) { url in
            let port = try #require(url.split(separator: ":").last)
            _ = try await log.line(containing: "notice Metrics are on port", "port=\(port)")
            #expect(!log.lines.contains { $0.contains("Server started") }, "\(log.lines)")
        }
    }

    @Test func aPortThatIsTakenIsAnErrorThatNamesTheKey() async throws {
        try await Self.run(PrometheusCollectorRegistry()) { url in
            let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
            let other = MetricsEndpoint(
                host: "127.0.0.1",
                port: port,
                registry: PrometheusCollectorRegistry(),
                logger: Self.logger
            )
            let error = await #expect(throws: ServiceError.self) { try await other.run() }
            #expect(error?.key == "telemetry.prometheus_port")
        }
    }
}

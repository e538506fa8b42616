import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncTesting
import Prometheus
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// The log line of a request (docs/service.md "Logs").
@Suite(.timeLimit(.minutes(1))) struct ErrorMiddlewareTests {
    /// A request, how it is answered, and how its line begins.
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var method = HTTPRequest.Method.get
        var path = "/asked"
        var line: String
        /// Other texts in the line.
        var texts: [String] = []
        /// Texts that are not in the line.
        var without: [String] = []
        var answer: @Sendable () throws -> Response
    }

    private struct Outage: Error {}

    private static func response(_ status: HTTPResponse.Status) -> Response {
        Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: "{}")))
    }

    private static let cases = [
        Case(
            testDescription: "what went well",
            line: "debug Request complete",
            texts: ["method=GET", "path=/asked", "status=200", "rid=h/7"],
            answer: { response(.ok) }
        ),
        Case(testDescription: "a refusal", line: "info Request complete", texts: ["status=403"]) {
            response(.forbidden)
        },
        Case(
            testDescription: "a probe",
            path: "/probes/readiness",
            line: "debug Request complete",
            texts: ["status=400"]
        ) {
            response(.badRequest)
        },
        Case(testDescription: "no such route", path: "/nowhere", line: "info Request complete", texts: ["status=404"]) {
            response(.ok)
        },
        Case(
            testDescription: "a full queue",
            line: "warning Request refused, queue overflow",
            texts: ["queue_overflow=true", "status=429", "duration_ms="]
        ) { throw ConcurrencyQueue.Failure.overflow },
        Case(
            testDescription: "an error",
            line: "error Request failed",
            texts: ["code=PSYNC_S2001", "status=500", "error=Outage()", "method=GET", "duration_ms="]
        ) { throw Outage() },
        Case(
            testDescription: "an error before the first sync config",
            line: "info Request failed",
            texts: ["code=PSYNC_S2302", "status=500"]
        ) { throw ErrorEnvelope.noSyncConfig },
        Case(
            testDescription: "a refused token",
            line: "info Request failed",
            texts: ["code=PSYNC_S2103", "status=401", "details=exp: 7"]
        ) { throw AuthorizationError(.tokenExpired, "JWT has expired", logDetails: "exp: 7") },
        Case(
            testDescription: "a refused token about which there is nothing more to say",
            line: "info Request failed",
            texts: ["description=JWT", "status=401"],
            without: ["details="]
        ) { throw AuthorizationError(.authentication, "JWT") },
        Case(
            testDescription: "a key set that cannot be fetched",
            line: "error Request failed",
            texts: ["code=PSYNC_S2204", "status=401", "details=no answer"]
        ) { throw AuthorizationError.keySetRequest("no answer") },
        Case(
            testDescription: "a request that is invalid",
            line: "info Request failed",
            texts: ["code=PSYNC_S2001", "status=400"]
        ) { throw ErrorEnvelope.validationFailed(["client_id"]) },
        Case(
            testDescription: "an error that answers HEAD",
            method: .head,
            line: "error Request failed",
            texts: ["method=HEAD"]
        ) { throw Outage() },
    ]

    /// The lines of a request.
    private static func lines(
        of test: Case,
        _ registry: PrometheusCollectorRegistry = PrometheusCollectorRegistry()
    ) async throws -> [String] {
        let log = CollectedLog()
        let metrics = ServiceMetrics(factory: PrometheusMetricsFactory(registry: registry))
        let router = Router(context: ServiceRequestContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: ErrorMiddleware(metrics: metrics) { "7" })
        for path in ["asked", "probes/readiness"] { router.get(RouterPath(path)) { _, _ in try test.answer() } }
        try await Application(router: router, logger: log.logger).test(.router) { client in
            _ = try await client.executeRequest(uri: test.path, method: test.method, headers: [:], body: nil)
        }
        return log.lines.filter { $0.contains("rid=") }
    }

    @Test(arguments: cases)
    func aRequestHasOneLine(_ test: Case) async throws {
        let lines = try await Self.lines(of: test)
        #expect(lines.count == 1, "\(lines)")
        let line = try #require(lines.first)
        #expect(line.hasPrefix(test.line), "\(line)")
        for text in test.texts { #expect(line.contains(text), "\(line)") }
        for text in test.without + ["hb.request.id"] { #expect(!line.contains(text), "\(line)") }
    }

    /// What a request adds to the metrics.
    private static func counted(_ test: Case) async throws -> [String] {
        let registry = PrometheusCollectorRegistry()
        _ = try await lines(of: test, registry)
        var bytes: [UInt8] = []
        registry.emit(into: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") && !$0.hasSuffix(" 0") }.sorted()
    }

    @Test(arguments: cases)
    func everyAnswerIsCounted(_ test: Case) async throws {
        let status = (test.texts.first { $0.hasPrefix("status=") } ?? "status=500").dropFirst(7)
        let answers = try await Self.counted(test).filter { $0.hasPrefix("powersync_http_responses_total") }
        #expect(answers == [#"powersync_http_responses_total{status="\#(status.prefix(1))xx"} 1"#])
    }

    @Test func theDurationOfARequestIsMeasuredOnTheInjectedClock() async throws {
        let clock = TestClock()
        let log = CollectedLog()
        let router = Router(context: ServiceRequestContext.self)
        router.add(middleware: ErrorMiddleware(clock: clock) { "7" })
        router.get("asked") { _, _ in
            clock.advance(by: .microseconds(1_250_500))
            return Self.response(.ok)
        }
        try await Application(router: router, logger: log.logger).test(.router) { client in
            _ = try await client.executeRequest(uri: "/asked", method: .get, headers: [:], body: nil)
        }
        #expect(log.lines.contains { $0.contains("Request complete") && $0.contains("duration_ms=1250.5") })
    }

    @Test func aRefusedTokenIsCounted() async throws {
        let refused = Case(testDescription: "a token", line: "") { throw AuthorizationError(.tokenExpired, "expired") }
        #expect(
            try await Self.counted(refused) == [
                #"powersync_http_responses_total{status="4xx"} 1"#,
                #"powersync_refused_tokens_total{code="PSYNC_S2103"} 1"#,
            ]
        )
    }

    @Test func aStreamHasItsOwnLines() async throws {
        let stream = Case(testDescription: "a stream", line: "") {
            Response(status: .ok, body: ResponseBody { writer in try await writer.finish(nil) })
        }
        #expect(try await Self.lines(of: stream) == [])
    }
}

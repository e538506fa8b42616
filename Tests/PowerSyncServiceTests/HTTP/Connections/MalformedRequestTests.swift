import HTTPConnections
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import NIOHTTP1
import PowerSyncProtocol
import Prometheus
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Bytes that are no request are answered, and the connection is closed (docs/service.md "Connections").
@Suite(.timeLimit(.minutes(1))) struct MalformedRequestTests {
    private typealias Scenario = ServiceScenario

    @Test(arguments: [
        ("no line", "hello there\r\n\r\n", "400"),
        ("too many fields", "GET / HTTP/1.1\r\n" + String(repeating: "X: 1\r\n", count: 1_001) + "\r\n", "431"),
    ])
    func theAnswerIsAnErrorOfTheServiceAndItsLogSaysSo(
        _ description: String,
        _ request: String,
        _ status: String
    ) async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                #expect(try await connection.probe())
                try await connection.send(request)
                let answer = try await connection.textUntilClosed()
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(description): \(answer)")
                #expect(answer.contains(#"{"error":{"code":"PSYNC_S2001""#), "\(description): \(answer)")
                #expect(answer.contains("\r\nAccess-Control-Allow-Origin: *\r\n"), "\(description): \(answer)")
                #expect(answer.contains("Connection: close"))
            }
            _ = try await log.line(containing: "Request refused, the connection is closed")
        }
    }

    @Test func answersOfConnectionsAreCountedByTheirStatus() async throws {
        let registry = PrometheusCollectorRegistry()
        let metrics = ServiceMetrics(factory: PrometheusMetricsFactory(registry: registry))
        let server = HTTPServerBuilder { responder in
            UpgradableHTTPChannel<Never>(
                responder: responder,
                limits: HTTPConnectionLimits(),
                answer: HTTPRefusal.envelopes(countedBy: metrics),
                upgrade: nil
            )
        }
        try await Application(router: Router(), server: server).test(.live) { client in
            let port = try #require(client.port)
            for request in ["hello there\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", RawRequests.request("GET /nowhere")] {
                try await RawConnection.connect(port: port) { connection in
                    try await connection.send(request)
                    _ = try await connection.text(until: " 40")
                }
            }
        }
        var bytes: [UInt8] = []
        registry.emit(into: &bytes)
        let counts = String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { $0.hasSuffix(" 2") }
        // Of the third one, a route would have known.
        #expect(counts == [#"powersync_http_responses_total{status="4xx"} 2"#])
    }

    @Test(
        arguments: [
            (.brokenHandshake(reason: "x"), .generic, "WebSocketHandshake"),
            (.notHTTP(.unknown), .generic, "ValidationError"),
            (.missingHost, .generic, "ValidationError"), (.repeatedHost, .generic, "ValidationError"),
            (.brokenHost, .generic, "ValidationError"), (.headTooSlow, .generic, "ValidationError"),
            (.headTooLarge, .generic, "ValidationError"), (.tooManyConnections, .connectionLimit, "ServiceError"),
        ] as [(HTTPRefusal, ErrorCode, String)]
    )
    func everyRefusalOfAConnectionIsAnErrorWithTheCodeOfTheEstablishedService(
        _ refusal: HTTPRefusal,
        _ code: ErrorCode,
        _ name: String
    ) {
        let error = ErrorEnvelope(refusal)
        #expect(error.code == code && error.name == name)
        #expect(error.status == refusal.status && error.description == refusal.description)
        #expect(error.details == refusal.details)
    }

    @Test func aBodyThatIsNoBodyEndsItsRequestWith400AndTheConnection() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let fields = [
                    "Authorization: Token \(token)", "Content-Type: application/json", "Transfer-Encoding: chunked",
                ]
                try await connection.send(RawRequests.request("POST /sync/stream", fields) + "zz\r\n{}\r\n0\r\n\r\n")
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == ["400"], "\(text)")
            }
        }
    }

    @Test func headIsAnsweredWithoutABodySoThatTheNextAnswerIsWhereItShouldBe() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let last = RawRequests.request("GET /probes/liveness", ["Connection: close"])
                try await connection.send(
                    RawRequests.request("HEAD /probes/liveness") + RawRequests.request("HEAD /nowhere") + last
                )
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == ["200", "404", "200"], "\(text)")
                #expect(!text.contains("PSYNC_S2002"))
            }
        }
    }
}

import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// The service behind a proxy that uses its connections again.
///
/// `keepalive 1` lets nginx keep one idle connection to the service, which the next request or handshake then gets. It does not
/// try a second one, so that a connection that is dead shows up as an error.
@Suite(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"), .timeLimit(.minutes(2)))
struct NginxTests {
    private typealias Scenario = ServiceScenario

    private static func run(
        log: CollectedLog? = nil,
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await Scenario.run(log: log) { scenario in try await NginxProxy.run(to: scenario, body) }
    }

    private static func expectStream(_ proxy: ServiceScenario) async throws {
        try await RSocketPeer.connect(port: proxy.address.port) { peer in
            try await peer.send(.setup(token: try proxy.token()), .request(1, credit: 100))
            #expect(try await peer.lines(2).last == "complete 0")
        }
    }

    @Test func requestsAndWebSocketsTakeTurnsOnOneConnection() async throws {
        try await Self.run { proxy in
            for _ in 0..<5 {
                #expect(try await proxy.send("GET", "/probes/liveness").status == 200)
                #expect(try await proxy.send("GET", "/nowhere").status == 404)
                try await Self.expectStream(proxy)
                #expect(
                    try await proxy.send("GET", "/write-checkpoint2.json?client_id=c1", token: try proxy.token()).status
                        == 200
                )
            }
        }
    }

    @Test func upgradesThatAreIgnoredAndHandshakesThatAreBrokenLeaveNothingDeadBehind() async throws {
        try await Self.run { proxy in
            for _ in 0..<3 {
                for (fields, status) in [
                    (["Connection: Upgrade", "Upgrade: h2c"], 200), (RawRequests.handshake(version: "8"), 400),
                    (RawRequests.handshake(connection: nil, key: nil), 400),
                ] {
                    try await RawConnection.connect(port: proxy.address.port) { connection in
                        try await connection.send(RawRequests.request("GET /probes/liveness", fields))
                        let answer = try await connection.text(until: "}")
                        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
                    }
                    #expect(try await proxy.send("GET", "/probes/liveness").status == 200)
                }
                // As Java's client does it.
                let reply = try await proxy.send(
                    "POST",
                    "/sync/checkpoint-request",
                    token: try proxy.token(),
                    headers: ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk"],
                    body: #"{"client_id":"c1","checkpoint_request_id":"1"}"#
                )
                #expect(reply.status == 200, "\(reply.body)")
                try await Self.expectStream(proxy)
            }
        }
    }

    @Test(arguments: AbruptDeparture.allCases)
    func aClientThatLeavesTheProxyEndsItsStreamInTheService(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(log: log) { proxy in
            try await RawConnection.connect(port: proxy.address.port) { connection in
                let fields = [
                    "Authorization: Token \(try proxy.token())", "Content-Type: application/json", "Content-Length: 2",
                ]
                try await connection.send(RawRequests.request("POST /sync/stream", fields) + "{}")
                _ = try await connection.text(until: "checkpoint_complete")
                try await connection.leave(departure)
            }
            #expect(try await log.line(containing: "Sync stream complete").contains("client closing stream"))
            try await RSocketPeer.connect(port: proxy.address.port) { peer in
                try await peer.send(.setup(token: try proxy.token()), .request(1, credit: 100))
                _ = try await peer.lines(2)
                try await peer.leave(departure)
            }
            let line = try await log.line(containing: "Sync stream complete", number: 2)
            #expect(line.contains("client closing stream"))
        }
    }

    @Test func aProxyThatCutsSilentStreamsLeavesNothingBehindAndTheNextOneBegins() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            // Less than the service's own signs of life are apart.
            let location = NginxProxy.location + ["proxy_read_timeout 1s;"]
            try await NginxProxy.run(to: scenario, location: location) { proxy in
                for number in 1...2 {
                    try await RawConnection.connect(port: proxy.address.port) { connection in
                        let fields = [
                            "Authorization: Token \(try proxy.token())", "Content-Type: application/json",
                            "Content-Length: 2",
                        ]
                        try await connection.send(RawRequests.request("POST /sync/stream", fields) + "{}")
                        _ = try await connection.text(until: "checkpoint_complete")
                        let line = try await log.line(containing: "Sync stream complete", number: number)
                        #expect(line.contains("client closing stream"))
                    }
                }
            }
        }
    }

    @Test func compressionIsAgreedOnThroughTheProxy() async throws {
        try await Self.run { proxy in
            try await RawConnection.connect(port: proxy.address.port) { connection in
                let fields = RawRequests.handshake() + ["Sec-WebSocket-Extensions: permessage-deflate"]
                try await connection.send(RawRequests.request("GET /", fields))
                #expect(try await connection.text(until: "\r\n\r\n").contains("permessage-deflate; server_no"))
            }
        }
    }
}

import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// Which requests make a WebSocket of their connection, and what happens to the others (docs/service.md "Connections").
@Suite(.timeLimit(.minutes(1))) struct UpgradeTests {
    private typealias Scenario = ServiceScenario

    /// Opens a sync stream over a connection that has become a WebSocket.
    private static func expectStream(_ connection: inout RawConnection, _ scenario: ServiceScenario) async throws {
        try await connection.send(RawRequests.message(.setup(token: try scenario.token())))
        try await connection.send(RawRequests.message(.request(1, credit: 100)))
        #expect(try await connection.text(until: "checkpoint_complete").contains("checkpoint_complete"))
    }

    @Test(arguments: [0, 1, 3])
    func eachRequestOfAConnectionMayOpenAWebSocketWhateverWasThereBefore(before: Int) async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                for _ in 0..<before { #expect(try await connection.probe()) }
                try await connection.send(RawRequests.request("GET /sync/stream", RawRequests.handshake()))
                let answer = try await connection.text(until: "\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 101 "), "\(answer)")
                #expect(answer.contains(RawRequests.accepted))
                try await Self.expectStream(&connection, scenario)
            }
        }
    }

    @Test func aHandshakeWaitsForTheAnswersToRequestsBeforeItAndMessagesMayFollowAtOnce() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let handshake = RawRequests.request("GET /", RawRequests.handshake())
                var bytes = ByteBuffer(string: RawRequests.probe + RawRequests.probe + handshake)
                bytes.writeImmutableBuffer(try RawRequests.message(.setup(token: try scenario.token())))
                bytes.writeImmutableBuffer(try RawRequests.message(.request(1, credit: 100)))
                try await connection.send(bytes)
                let text = try await connection.text(until: "checkpoint_complete")
                let heads = RawRequests.statuses(of: text)
                #expect(heads == ["200", "200", "101"], "\(text)")
            }
        }
    }

    @Test(arguments: AbruptDeparture.allCases)
    func aClientThatLeavesAWebSocketOfAUsedConnectionEndsItsStream(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                #expect(try await connection.probe())
                try await connection.send(RawRequests.request("GET /sync/stream", RawRequests.handshake()))
                _ = try await connection.text(until: "\r\n\r\n")
                try await Self.expectStream(&connection, scenario)
                let left = ContinuousClock.now
                try await connection.leave(departure)
                try await DepartureTests.expectEnd(log, since: left)
            }
            #expect(try await log.line(containing: "Sync stream complete").contains("client closing stream"))
        }
    }

    struct Ignored: CustomTestStringConvertible, Sendable {
        var line = "GET /probes/liveness"
        var fields: [String]
        var body = ""
        var status = 200
        var testDescription: String { "\(line) \(fields)" }
    }

    @Test(arguments: [
        Ignored(fields: ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"]),
        Ignored(fields: ["Connection: keep-alive,UPGRADE", "Upgrade: h2c"]),
        Ignored(fields: ["Connection: upgrade \t", "Upgrade: h2c, foo/2"]),
        Ignored(fields: ["Connection: x, upgrade ,y", "Upgrade:"]),
        Ignored(fields: ["Connection: x", "Connection: upgrade", "Upgrade: TLS/1.0"]),
        Ignored(fields: ["Connection: not-an-upgrade", "Upgrade: h2c"]),
        Ignored(fields: ["Upgrade: h2c"]),
        Ignored(fields: RawRequests.handshake(connection: nil)),
        Ignored(fields: RawRequests.handshake(connection: "keep-alive")),
        Ignored(
            line: "POST /sync/stream",
            fields: RawRequests.handshake() + ["Content-Type: application/json", "Content-Length: 2"],
            body: "{}",
            status: 401
        ),
        Ignored(
            line: "POST /sync/stream",
            fields: ["Connection: Upgrade", "Upgrade: h2c", "Transfer-Encoding: chunked"],
            body: "2\r\n{}\r\n0\r\n\r\n",
            status: 401
        ),
        Ignored(line: "CONNECT example.com:443", fields: [], status: 404),
    ])
    func anUpgradeThatTheServiceDoesNotSpeakIsIgnoredItsRequestAndTheNextOnesAreAnswered(_ test: Ignored) async throws {
        let request = RawRequests.request(test.line, test.fields) + test.body
        let last = RawRequests.request("GET /probes/liveness", ["Connection: close"])
        let statuses = ["\(test.status)", "200", "\(test.status)", "200"]
        try await Scenario.run { scenario in
            // One after the other, on a connection of their own and on a used one.
            try await RawConnection.connect(port: scenario.address.port) { connection in
                for round in 0..<2 {
                    try await connection.send(request)
                    let answer = try await connection.text(until: "}")
                    #expect(answer.hasPrefix("HTTP/1.1 \(test.status) "), "\(round): \(answer)")
                    #expect(try await connection.probe())
                }
            }
            // All at once.
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(request + RawRequests.probe + request + last)
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == statuses, "\(text)")
            }
        }
    }

    @Test(
        arguments: [
            (RawRequests.handshake(version: "8"), "Version must be 13"),
            (RawRequests.handshake(version: nil), "Version must be 13"),
            (RawRequests.handshake(version: "13, 8"), "Version must be 13"),
            (RawRequests.handshake(key: nil), "Key must be"),
            (RawRequests.handshake(key: "short"), "Key must be"),
            (RawRequests.handshake() + ["Sec-WebSocket-Key: \(RawRequests.key)"], "Key must be"),
            (RawRequests.handshake() + ["Content-Length: 1"], "must not have a body"),
            (RawRequests.handshake() + ["Transfer-Encoding: chunked"], "must not have a body"),
        ] as [([String], String)]
    )
    func aHandshakeThatIsNotAsItShouldBeIsAnsweredWithWhatIsWrong(fields: [String], reason: String) async throws {
        try await Scenario.run { scenario in
            for before in 0...1 {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    for _ in 0..<before { #expect(try await connection.probe()) }
                    try await connection.send(RawRequests.request("GET /sync/stream", fields))
                    let answer = try await connection.textUntilClosed()
                    #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                    #expect(answer.contains("PSYNC_S2001") && answer.contains(reason), "\(answer)")
                    #expect(answer.contains("Sec-WebSocket-Version: 13"))
                }
            }
        }
    }

    @Test func aClientOfHTTP10GetsNoChunksAndTheEndOfTheConnectionAfterItsAnswer() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send("GET /sync/stream?probe=streaming HTTP/1.0\r\n\r\n")
                let answer = try await connection.textUntilClosed()
                #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n"), "\(answer)")
                #expect(!answer.lowercased().contains("transfer-encoding"))
                #expect(answer.hasSuffix("\r\n\r\n{\"probe\":\"first\"}\n{\"probe\":\"last\"}\n"), "\(answer)")
            }
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let fields = [
                    "Authorization: Token \(try scenario.token())", "Content-Type: application/json",
                    "Content-Length: 2", "Accept-Encoding: gzip",
                ]
                let request = RawRequests.request("POST /sync/stream", fields) + "{}"
                try await connection.send(request.replacing("HTTP/1.1", with: "HTTP/1.0"))
                var head = ""
                while !head.contains("\r\n\r\n"), let bytes = try await connection.read() {
                    head += String(decoding: bytes.readableBytesView, as: UTF8.self)
                }
                #expect(head.hasPrefix("HTTP/1.0 200 OK\r\n") && head.lowercased().contains("content-encoding: gzip"))
                #expect(!head.lowercased().contains("transfer-encoding"), "\(head)")
            }
            // A length needs no end; the connection has one.
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send("GET /probes/liveness HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                let answer = try await connection.textUntilClosed()
                #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n") && answer.hasSuffix("}"), "\(answer)")
            }
        }
    }

    @Test func http10HasNoUpgrades() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let request = RawRequests.request("GET /probes/liveness", RawRequests.handshake())
                try await connection.send(request.replacing("HTTP/1.1", with: "HTTP/1.0"))
                #expect(try await connection.textUntilClosed().hasPrefix("HTTP/1.0 200 "))
            }
        }
    }
}

import NIOCore
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// Bytes that are no request are answered, and the connection is closed (docs/service.md "Connections").
@Suite(.timeLimit(.minutes(1))) struct MalformedRequestTests {
    private typealias Scenario = ServiceScenario

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: [UInt8]
        var status = "400"

        init(_ description: String, _ text: String, status: String = "400") {
            testDescription = description
            bytes = Array(text.utf8)
            self.status = status
        }

        init(_ description: String, _ bytes: [UInt8]) {
            testDescription = description
            self.bytes = bytes
        }
    }

    static let cases = [
        Case("a method that is none", "BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n"),
        Case(
            "two lengths",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        Case("no host", "GET /probes/liveness HTTP/1.1\r\nAccept: */*\r\n\r\n"),
        Case("a host twice", "GET /probes/liveness HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"),
        Case("two hosts", "GET /probes/liveness HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n"),
        Case("two hosts, and one in the target", "GET http://x/probes/liveness HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        Case("no host but that of the target", "GET http://x/probes/liveness HTTP/1.1\r\nAccept: */*\r\n\r\n"),
        Case("two names in a host", "GET /probes/liveness HTTP/1.1\r\nHost: x y\r\n\r\n"),
        Case("a user in a host", "GET /probes/liveness HTTP/1.1\r\nHost: user@x\r\n\r\n"),
        Case("a user in a target", "GET http://user@x/probes/liveness HTTP/1.1\r\nHost: x\r\n\r\n"),
        Case("a path in a host", "GET /probes/liveness HTTP/1.1\r\nHost: x/y\r\n\r\n"),
        Case("a port that is no number", "GET /probes/liveness HTTP/1.1\r\nHost: x:y\r\n\r\n"),
        Case("a bracket that is not closed", "GET /probes/liveness HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        Case("a host with another letter", "GET /probes/liveness HTTP/1.1\r\nHost: boo\u{212a}\r\n\r\n"),
        Case("no line", "hello there\r\n\r\n"),
        Case("HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Case("HTTP/3", "GET / HTTP/3.0\r\nHost: x\r\n\r\n"),
        Case("a field without a name", "GET / HTTP/1.1\r\n: x\r\n\r\n"),
        Case("a length that is no number", "POST / HTTP/1.1\r\nContent-Length: ten\r\n\r\n"),
        Case("a TLS hello", [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x03]),
        Case(
            "a field over the limit",
            "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 300_000) + "\r\n\r\n",
            status: "431"
        ),
        Case(
            "fields over the limit",
            "GET / HTTP/1.1\r\n"
                + (0..<100).map { "X\($0): \(String(repeating: "x", count: 1_000))\r\n" }.joined() + "\r\n",
            status: "431"
        ),
        Case(
            "too many fields",
            "GET / HTTP/1.1\r\n" + String(repeating: "X: 1\r\n", count: 1_001) + "\r\n",
            status: "431"
        ),
        Case("a path over the limit", "GET /" + String(repeating: "x", count: 100_000), status: "431"),
    ]

    @Test("as the first request, after others, and behind one that is being answered", arguments: cases)
    func answered(_ test: Case) async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            for before in 0...1 {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    for _ in 0..<before { #expect(try await connection.probe()) }
                    try await connection.send(ByteBuffer(bytes: test.bytes))
                    let answer = try await connection.textUntilClosed()
                    #expect(answer.hasPrefix("HTTP/1.1 \(test.status) "), "\(answer)")
                    #expect(answer.contains(#"{"error":{"code":"PSYNC_S2001""#), "\(answer)")
                    #expect(answer.contains("Connection: close"))
                }
            }
            try await RawConnection.connect(port: scenario.address.port) { connection in
                var bytes = ByteBuffer(string: RawRequests.probe)
                bytes.writeBytes(test.bytes)
                try await connection.send(bytes)
                let text = try await connection.textUntilClosed()
                let statuses = RawRequests.statuses(of: text)
                #expect(statuses == ["200", test.status], "\(text)")
            }
            _ = try await log.line(containing: "Request refused, the connection is closed", number: 3)
        }
    }

    @Test("a head that ends with the connection is answered to whoever still listens")
    func truncated() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send("GET /probes/liveness HTTP/1.1\r\nHos")
                try await connection.leave(.closeSendingHalf)
                #expect(try await connection.textUntilClosed().hasPrefix("HTTP/1.1 400 "))
            }
        }
    }

    @Test("a body that is no body ends its request with 400, and the connection")
    func malformedBody() async throws {
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

    @Test("what follows a request that wants the connection closed is not answered")
    func afterTheLast() async throws {
        try await Scenario.run { scenario in
            for rest in [RawRequests.probe, "garbage\r\n\r\n"] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    try await connection.send(RawRequests.request("GET /probes/liveness", ["Connection: Close"]) + rest)
                    let text = try await connection.textUntilClosed()
                    #expect(RawRequests.statuses(of: text) == ["200"], "\(text)")
                }
            }
        }
    }

    @Test("HEAD is answered without a body, so that the next answer is where it should be")
    func head() async throws {
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

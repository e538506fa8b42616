import InMemoryLogging
import Logging
import NIOCore
import TestSupport
import Testing

/// Bytes that are no request are answered, and the connection is closed.
@Suite(.timeLimit(.minutes(1))) struct MalformedRequestTests {
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

    @Test(arguments: cases)
    func asTheFirstRequestAfterOthersAndBehindOneThatIsBeingAnswered(_ test: Case) async throws {
        try await LoopbackServer.run { port, log in
            for before in 0...1 {
                try await RawConnection.connect(port: port) { connection in
                    for _ in 0..<before { #expect(try await connection.probe()) }
                    try await connection.send(ByteBuffer(bytes: test.bytes))
                    let answer = try await connection.textUntilClosed()
                    #expect(answer.hasPrefix("HTTP/1.1 \(test.status) "), "\(answer)")
                    #expect(answer.contains("Content-Type: text/plain"), "\(answer)")
                    #expect(answer.contains("Connection: close"))
                }
            }
            try await RawConnection.connect(port: port) { connection in
                var bytes = ByteBuffer(string: RawRequests.probe)
                bytes.writeBytes(test.bytes)
                try await connection.send(bytes)
                let text = try await connection.textUntilClosed()
                let statuses = RawRequests.statuses(of: text)
                #expect(statuses == ["200", test.status], "\(text)")
            }
            #expect(log.entries.count { $0.message == "Request refused, the connection is closed" } == 3)
        }
    }

    @Test func aHeadThatEndsWithTheConnectionIsAnsweredToWhoeverStillListens() async throws {
        try await LoopbackServer.run { port, _ in
            try await RawConnection.connect(port: port) { connection in
                try await connection.send("GET /probes/liveness HTTP/1.1\r\nHos")
                try await connection.leave(.closeSendingHalf)
                #expect(try await connection.textUntilClosed().hasPrefix("HTTP/1.1 400 "))
            }
        }
    }

    @Test func whatFollowsARequestThatWantsTheConnectionClosedIsNotAnswered() async throws {
        try await LoopbackServer.run { port, _ in
            for rest in [RawRequests.probe, "garbage\r\n\r\n"] {
                try await RawConnection.connect(port: port) { connection in
                    try await connection.send(RawRequests.request("GET /probes/liveness", ["Connection: Close"]) + rest)
                    let text = try await connection.textUntilClosed()
                    #expect(RawRequests.statuses(of: text) == ["200"], "\(text)")
                }
            }
        }
    }
}

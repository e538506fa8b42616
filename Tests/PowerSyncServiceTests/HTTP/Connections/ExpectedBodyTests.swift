import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// `Expect: 100-continue`: a client is told to send its body when somebody reads it, and only then.
@Suite(.timeLimit(.minutes(1))) struct ExpectedBodyTests {
    private static let body = #"{"user_id":"u7"}"#

    private static func run(_ body: (ServiceScenario) async throws -> Void) async throws {
        try await ServiceScenario.run(configure: { $0.development.tokenEndpoint = true }, body)
    }

    @Test(arguments: ["100-continue", "100-Continue", "100-CONTINUE ", "other=1, 100-continue"])
    func aBodyIsAskedFor(_ expectation: String) async throws {
        try await Self.run { scenario in
            for framing in ["Content-Length: \(Self.body.utf8.count)", "Transfer-Encoding: chunked"] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    // After another one, and before one that has its body with it.
                    #expect(try await connection.probe())
                    let fields = ["Content-Type: application/json", framing, "Expect: \(expectation)"]
                    try await connection.send(RawRequests.request("POST /dev/token", fields))
                    #expect(try await connection.text(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                    let isChunked = framing.hasPrefix("Transfer")
                    let length = String(Self.body.utf8.count, radix: 16)
                    try await connection.send(isChunked ? "\(length)\r\n\(Self.body)\r\n0\r\n\r\n" : Self.body)
                    #expect(try await connection.text(until: "}}").hasPrefix("HTTP/1.1 200 OK"))
                    #expect(try await connection.probe())
                }
            }
        }
    }

    @Test func refusedRequestsAreNot() async throws {
        try await Self.run { scenario in
            let tooLong = "Content-Length: \(ServiceRoutes.writeBodyLimit + 1)"
            let token = "Authorization: Token \(try scenario.token())"
            for (path, fields, status) in [
                ("/sync/stream", ["Content-Length: 2"], "401"), ("/dev/write", [token, tooLong], "413"),
                ("/nowhere", ["Content-Length: 2"], "404"), ("/dev/write", [token, "Content-Encoding: gzip"], "415"),
            ] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    let all = ["Content-Type: application/json", "Expect: 100-continue", "Connection: close"] + fields
                    try await connection.send(RawRequests.request("POST \(path)", all))
                    let text = try await connection.textUntilClosed()
                    #expect(RawRequests.statuses(of: text) == [status], "\(text)")
                }
            }
        }
    }

    @Test func aClientOfHTTP10GetsTheAnswerOnlyAndSoDoesOneThatExpectsSomethingElse() async throws {
        try await Self.run { scenario in
            for (version, expectation) in [("1.0", "100-continue"), ("1.1", "200-ok")] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    try await connection.send(
                        """
                        POST /dev/token HTTP/\(version)\r
                        Host: localhost\r
                        Connection: close\r
                        Content-Type: application/json\r
                        Content-Length: \(Self.body.utf8.count)\r
                        Expect: \(expectation)\r
                        \r
                        \(Self.body)
                        """
                    )
                    let text = try await connection.textUntilClosed()
                    #expect(text.hasPrefix("HTTP/\(version) 200 OK"), "\(text)")
                }
            }
        }
    }
}

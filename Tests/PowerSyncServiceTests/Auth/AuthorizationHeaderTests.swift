import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncAuth

/// How tokens are presented (RFC 9110, 11.1 and 11.4): schemes in any case, blanks around them, one of each.
@Suite(.timeLimit(.minutes(1))) struct AuthorizationHeaderTests {
    static let schemes = ["Token", "token", "TOKEN", "tOkEn", "Bearer", "bearer", "BEARER", "bEARER"]
    static let blanks = [" ", "  ", "\t", " \t ", "          "]

    @Test(arguments: schemes, blanks)
    func schemesAndBlanks(_ scheme: String, _ blanks: String) throws {
        for (before, after) in [("", ""), (" ", ""), ("", " "), ("\t", "\t\t"), (blanks, blanks)] {
            let header = before + scheme + blanks + "abc" + after
            #expect(AuthorizationHeader.credentials(header) == "abc")
            #expect(throws: Never.self) { try AdminTokens(["x", "abc"]).authorize(header) }
            #expect(throws: AuthorizationError.self) { try AdminTokens(["ABC", "ab", ""]).authorize(header) }
        }
    }

    @Test(arguments: [
        "", " ", "Token", "Token ", "token\t", "Tokenabc", "Token:abc", "Basic abc", "Bearer\u{a0}abc", "abc",
        "Token,abc",
        "to\u{212a}en abc", "Token\u{301} abc", "Token\nabc", "Bearer=abc", "Token Token", "Bearer abc, Bearer abc",
        "Token a b",
        "Token a\tb",
    ])
    func otherHeadersHaveNoToken(_ header: String) async {
        await #expect(throws: AuthorizationError.self) {
            _ = try await TestVerifier.verifier().verify(authorization: header, now: TestVerifier.now)
        }
        guard !["Token Token", "Bearer abc, Bearer abc", "Token a b", "Token a\tb"].contains(header) else { return }
        #expect(AuthorizationHeader.credentials(header) == nil)
    }

    @Test func withoutAHeaderThereIsNoToken() async {
        await #expect(throws: AuthorizationError.missingToken) {
            _ = try await TestVerifier.verifier().verify(authorization: nil, now: TestVerifier.now)
        }
    }

    // MARK: Over the wire

    @Test func clientsAreKnownOverHTTP() async throws {
        try await ServiceScenario.run { scenario in
            let token = try scenario.token()
            for value in ["bearer \(token)", "TOKEN  \(token)", "Bearer\t\(token)", "Token \t\(token)\t "] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    let fields = ["authorization:\(value)", "Connection: close"]
                    try await connection.send(RawRequests.request("GET /write-checkpoint2.json?client_id=c", fields))
                    let text = try await connection.textUntilClosed()
                    #expect(RawRequests.statuses(of: text) == ["200"], "\(text)")
                }
            }
            // Two fields are one list (RFC 9110, 5.3), which is no token, also when both are the same.
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let field = "Authorization: Bearer \(token)"
                let fields = [field, field, "Connection: close"]
                try await connection.send(RawRequests.request("GET /write-checkpoint2.json?client_id=c", fields))
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == ["401"], "\(text)")
            }
        }
    }

    @Test func operatorsAreKnownOverHTTP() async throws {
        try await AdminScenario.run { scenario in
            for value in ["token \(AdminScenario.token)", "BEARER\t \(AdminScenario.token)"] {
                for (method, path) in [("POST", "/api/admin/v1/schema"), ("GET", "/dashboard/config")] {
                    let headers = ["Authorization": value]
                    let body = method == "POST" ? "{}" : nil
                    let status = try await scenario.status(method, path, headers: headers, body: body)
                    #expect(status == 200, "\(path)")
                }
            }
        }
    }

    @Test(arguments: ["bearer ", "TOKEN  ", "Bearer\t"])
    func clientsAreKnownOverRSocket(_ scheme: String) async throws {
        try await ServiceScenario.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                let metadata: JSONObject = ["token": .string(scheme + (try scenario.token()))]
                try await peer.send(.setup(metadata: ByteBuffer(string: metadata.text)), .request(1, credit: 1))
                #expect(try await peer.lines(1).first?.hasPrefix("checkpoint") == true)
            }
        }
    }
}

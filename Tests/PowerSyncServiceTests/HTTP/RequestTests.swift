import Foundation
import NIOCore
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Requests that fail, and headers of all responses (docs/protocol.md "Requests and responses").
@Suite(.timeLimit(.minutes(1))) struct RequestTests {
    private typealias Scenario = ServiceScenario

    @Test func withoutAGoodTokenNothingIsAnswered() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            for (authorization, code) in [
                (nil, "PSYNC_S2106"), ("Basic \(token)", "PSYNC_S2106"), ("Token garbage", "PSYNC_S2101"),
            ] as [(String?, String)] {
                let headers = authorization.map { ["Authorization": $0] } ?? [:]
                for (method, path, body) in [
                    ("POST", "/sync/stream", "{}"), ("GET", "/write-checkpoint2.json", nil),
                    ("POST", "/dev/write", "{}"),
                ] as [(String, String, String?)] {
                    let reply = try await scenario.send(method, path, headers: headers, body: body)
                    #expect(reply.status == 401)
                    #expect(try reply.error("code") == code)
                    #expect(try reply.error("name") == "AuthorizationError")
                    #expect(reply.headers["content-type"] == "application/json")
                }
            }
            let reply = try await scenario.send(
                "GET",
                "/write-checkpoint2.json",
                headers: ["Authorization": "Bearer \(token)"]
            )
            #expect(reply.status == 200)
        }
    }

    /// The cases of bodies are in `RequestParametersTests`.
    @Test(arguments: [("application/json", 400, "PSYNC_S2001"), ("application/xml", 415, "PSYNC_S2004")])
    func with22235BodiesAreChecked(type: String, status: Int, code: String) async throws {
        try await Scenario.run { scenario in
            let reply = try await scenario.send(
                "POST",
                "/sync/stream",
                token: try scenario.token(),
                headers: ["Content-Type": type],
                body: #"{"buckets":[{"name":"x"}]}"#
            )
            #expect(reply.status == status)
            #expect(try reply.error("code") == code)
        }
    }

    @Test func bodiesThatAreFine() async throws {
        try await Scenario.run { scenario in
            let subscription =
                #"{"streams":{"subscriptions":[{"stream":"a","parameters":null,"override_priority":null}]}}"#
            for (path, type, body) in [
                ("/sync/stream", "application/json", subscription), ("/sync/stream", "application/json", "[1]"),
                ("/sync/stream", "application/json; charset=utf-8", "{}"), ("/sync/stream", "text/plain", "whatever"),
                ("/sync/stream?client_id=c1&x=1", "application/json", "{}"),
                ("/sync/stream", "application/json", #"{"parameters":null,"app_metadata":null,"unknown":1}"#),
                ("/sync/stream", "application/json", #"{"parameters":{"name":"Ann \ud83d"}}"#),
                ("/sync/stream", "application/json", #"{"app_metadata":{"name":"Ann \ud83d"}}"#),
            ] {
                // A stream has no end of its own, so only its head is waited for.
                let status = try await scenario.status(
                    "POST",
                    path,
                    token: try scenario.token(),
                    headers: ["Content-Type": type],
                    body: body
                )
                #expect(status == 200, "\(type) \(body)")
            }
        }
    }

    /// What there is as much of in a body as fits: almost 1 MiB.
    enum Shape: String, CaseIterable, CustomTestStringConvertible {
        case members, equalNames, digits, decimals, escapes, nesting, objects
        var testDescription: String { rawValue }

        var body: String {
            func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
            return switch self {
            case .members: "{" + (0..<40_000).map { "\"name \($0)\":1" }.joined(separator: ",") + "}"
            case .equalNames: "{" + repeated("\"a\":1,", 160_000) + "\"a\":2}"
            case .digits: "{\"a\":" + repeated("9", 1_000_000) + "}"
            case .decimals: "{\"a\":0." + repeated("9", 1_000_000) + "}"
            case .escapes: "{\"a\":\"" + repeated("\\u00e9", 170_000) + "\"}"
            // As deep as is allowed, or almost.
            case .nesting: "{\"a\":[" + repeated(repeated("[", 120) + repeated("]", 120) + ",", 4_000) + "[]]}"
            case .objects: "{\"a\":[" + repeated("{\"b\":1},", 100_000) + "{}]}"
            }
        }
    }

    @Test(arguments: Shape.allCases)
    func aBodyIsReadAtOnceWhateverThereIsMuchOfAndSoIsAQuery(_ shape: Shape) async throws {
        try await Scenario.run { scenario in
            let query = "?" + (0..<8_000).map { "n\($0)" }.joined(separator: "&")
            let status = try await scenario.status(
                "POST",
                "/sync/stream" + query,
                token: try scenario.token(),
                body: shape.body
            )
            #expect(status == 200)
        }
    }

    @Test(
        arguments: [
            ("/sync/stream", ["Content-Type": "APPLICATION/Json ; Charset=utf-8"]),
            ("/sync/stream", ["Content-Encoding": "Identity"]),
            ("/sync/stream", ["Content-Encoding": "identity,identity"]), ("/sync/stream", ["Content-Encoding": " , "]),
            ("/%73ync/stre%61m", [:]), ("/sync/stream?client%5Fid=c", ["Accept": "APPLICATION/x-ndjson"]),
        ] as [(String, [String: String])]
    )
    func whatIsEqualByRFC9110AndRFC3986Is(_ path: String, _ headers: [String: String]) async throws {
        try await Scenario.run { scenario in
            let status = try await scenario.status(
                "POST",
                path,
                token: try scenario.token(),
                headers: headers,
                body: "{}"
            )
            #expect(status == 200)
        }
    }

    @Test(arguments: [
        ("/probes%2Fliveness", 404), ("/%2570robes/liveness", 404), ("/%70robes/liveness", 200), ("/%7", 404),
        ("/%+f", 404),
        ("/%zzprobes/liveness", 404), ("/%70%72%6Fbes/live%6Eess", 200),
    ])
    func percentSignsThatAreDataStay(_ path: String, _ status: Int) async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(RawRequests.request("GET \(path)", ["Connection: close"]))
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == ["\(status)"], "\(text)")
            }
        }
    }

    @Test func compressedBodiesAreRefusedAsSuch() async throws {
        try await Scenario.run { scenario in
            let reply = try await scenario.send(
                "POST",
                "/sync/stream",
                token: try scenario.token(),
                headers: ["Content-Encoding": "gzip"],
                body: "\u{1f}\u{8b}"
            )
            #expect(reply.status == 415)
            #expect(try reply.error("code") == "PSYNC_S2004")
        }
    }

    @Test func probesUnderSlowBodies() async throws {
        try await Scenario.run(configure: { $0.development.tokenEndpoint = true }) { scenario in
            let port = scenario.address.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                // 10 are read at a time, and 20 wait for that.
                let refused = ChangeSignal()
                for _ in 0..<40 {
                    group.addTask {
                        try await RawConnection.connect(port: port) { connection in
                            try await connection.send(
                                RawRequests.request("POST /dev/token", ["Content-Length: 100"]) + "{"
                            )
                            _ = try await connection.text(until: "429")
                            refused.advance()
                            while try await connection.read() != nil {}
                        }
                    }
                }
                while true {
                    let seen = refused.version
                    if seen >= 10 { break }
                    try await refused.wait(after: seen)
                }
                // No place is left for this one, or will be.
                let token = try await scenario.status("POST", "/dev/token", body: "{}")
                #expect(token == 429)
                for question in ["startup", "liveness", "readiness"] {
                    #expect(try await scenario.send("GET", "/probes/\(question)").status == 200)
                }
                group.cancelAll()
            }
        }
    }

    @Test func bodiesHaveALimit() async throws {
        try await Scenario.run { scenario in
            let body = #"{"x":""# + String(repeating: "x", count: ServiceRoutes.bodyLimit) + #""}"#
            let reply = try await scenario.send("POST", "/sync/stream", token: try scenario.token(), body: body)
            #expect(reply.status == 413)
            #expect(reply.headers["connection"] == "close")
        }
        try await Scenario.run(configure: { $0.development.tokenEndpoint = true }) { scenario in
            let body = #"{"user_id":""# + String(repeating: "x", count: ServiceRoutes.strangerBodyLimit) + #""}"#
            let reply = try await scenario.send("POST", "/dev/token", body: body)
            #expect(reply.status == 413)
            let path = "/sync/checkpoint-request"
            #expect(try await scenario.send("POST", path, token: try scenario.token(), body: body).status == 413)
        }
    }

    @Test func aClientThatSendsAllOfABodyBeforeItReadsGetsTheAnswerToIt() async throws {
        try await Scenario.run { scenario in
            let length = 16 * ServiceRoutes.bodyLimit
            let fields = [
                "Authorization: Token \(try scenario.token())", "Content-Type: application/json",
                "Content-Length: \(length)",
            ]
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(RawRequests.request("POST /sync/stream", fields))
                try await connection.send(ByteBuffer(repeating: UInt8(ascii: "x"), count: length))
                #expect(RawRequests.statuses(of: try await connection.textUntilClosed()) == ["413"])
            }
        }
    }

    @Test(arguments: [
        ("GET", "/nope"), ("GET", "/sync/stream"), ("PUT", "/sync/stream"), ("GET", "/write-checkpoint.json"),
    ])
    func with2226UnknownPathsAndMethods(_ method: String, _ path: String) async throws {
        try await Scenario.run { scenario in
            let reply = try await scenario.send(method, path)
            #expect(reply.status == 404)
            #expect(try reply.error("code") == "PSYNC_S2002")
            #expect(try reply.error("details")?.contains("\(method) \"\(path)\"") == true)
            #expect(reply.headers["access-control-allow-origin"] == "*")
        }
    }

    @Test func headersOfAStream() async throws {
        try await Scenario.run { scenario in
            // The first line of an expired token is also the last one, so that the response ends.
            let token = try scenario.token(lifetime: .seconds(1), now: .now.addingTimeInterval(-30))
            let reply = try await scenario.send("POST", "/sync/stream", token: token, body: "{}")
            #expect(reply.status == 200)
            #expect(reply.body == "{\"token_expires_in\":0}\n")
            #expect(reply.headers["content-type"] == "application/x-ndjson")
            #expect(reply.headers["x-accel-buffering"] == "no")
            #expect(reply.headers["access-control-allow-origin"] == "*")
            #expect(reply.headers["access-control-expose-headers"] == "Content-Type, Retry-After")
        }
    }

    @Test func preflightRequests() async throws {
        try await Scenario.run { scenario in
            let headers = ["Origin": "http://a", "Access-Control-Request-Method": "POST"]
            let reply = try await scenario.send("OPTIONS", "/sync/stream", headers: headers)
            #expect(reply.status == 204)
            #expect(reply.headers["access-control-allow-origin"] == "*")
            #expect(
                reply.headers["access-control-allow-headers"] == "Content-Type, Authorization, User-Agent, X-User-Agent"
            )
            #expect(reply.headers["access-control-allow-methods"] == "GET, HEAD, POST")
            #expect(reply.headers["access-control-max-age"] == "3600")
            for missing in headers.keys {
                let reply = try await scenario.send("OPTIONS", "/", headers: headers.filter { $0.key != missing })
                #expect(reply.status == 400)
                #expect(reply.body == "Invalid Preflight Request")
            }
        }
    }

    @Test(arguments: ["startup", "liveness", "readiness"])
    func healthChecks(_ question: String) async throws {
        try await Scenario.run { scenario in
            let reply = try await scenario.send("GET", "/probes/\(question)")
            #expect(reply.status == 200)
            let body = try reply.json
            #expect(body["ready"] == true)
            #expect(body["started"] == true)
            #expect(body.text("touched_at")?.hasSuffix("Z") == true)
            #expect(try await scenario.send("HEAD", "/probes/\(question)").status == 200)
        }
    }

    @Test func healthChecksCanBeOff() async throws {
        try await Scenario.run(configure: { $0.probes.useHTTP = false }) { scenario in
            let status = try await scenario.status("GET", "/probes/liveness")
            #expect(status == 404)
        }
    }
}

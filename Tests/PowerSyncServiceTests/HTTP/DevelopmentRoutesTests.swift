import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Endpoints for development.
@Suite(.timeLimit(.minutes(1))) struct DevelopmentRoutesTests {
    private typealias Scenario = ServiceScenario

    struct Case: CustomTestStringConvertible, Sendable {
        var body: String
        var details: String
        var testDescription: String { body }
    }

    @Test(arguments: [
        Case(body: "{}", details: "data must be an array"),
        Case(body: #"{"data":[1]}"#, details: "data[0]: must be an object"),
        Case(body: #"{"data":[{"op":"PUT","type":"lists"}]}"#, details: "data[0]: id must be a string"),
        Case(body: #"{"data":[{"op":"MERGE","type":"lists","id":"a"}]}"#, details: "not \\\"MERGE\\\""),
        Case(body: #"{"data":[{"op":"PUT","id":"a"}]}"#, details: "data[0]: type"),
        Case(body: #"{"data":[{"op":"PUT","type":"lists","id":"a","data":1}]}"#, details: "data[0]: data"),
        Case(body: #"{"data":[{"op":"PUT","type":"nope","id":"a"}]}"#, details: "nope"),
        Case(
            body:
                #"{"data":[{"op":"PUT","type":"lists","id":"a"},{"op":"PATCH","type":"lists","id":"a","data":{"nope":1}}]}"#,
            details: "data[1]: "
        ),
    ])
    func wrongWritesAreRefusedAsAWhole(_ test: Case) async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            let reply = try await scenario.send("POST", "/dev/write", token: token, body: test.body)
            #expect(reply.status == 400)
            #expect(try reply.error("details")?.contains(test.details) == true, "\(reply.body)")
            try await scenario.settle()
            var stream = try await scenario.stream(token)
            #expect(try await stream.untilComplete().first?.hasPrefix("checkpoint 0:") == true)
        }
    }

    @Test(arguments: [false, true])
    func columnsThatATableLacksAreSaidOrAdded(addsColumns: Bool) async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) {
            $0.development.addsColumns = addsColumns
        } _: { scenario in
            let body = """
                {"data":[
                    {"op":"PUT","type":"settings","id":"a","data":{"value":"v","due":"2026-11-29","count":1,"done":true,"note":null}},
                    {"op":"PUT","type":"settings","id":"b","data":{"VALUE":"w","count":2.5}},
                    {"op":"DELETE","type":"settings","id":"c","data":null}
                ]}
                """.replacing("\"VALUE\"", with: addsColumns ? "\"value\"" : "\"VALUE\"")
            let reply = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body)
            #expect(reply.status == (addsColumns ? 200 : 400), "\(reply.body)")
            let lines = log.lines.filter { $0.contains("A client writes a column that its table") }
            let statements = [
                #"ADD COLUMN "count" REAL;"#, #"ADD COLUMN "done" INTEGER;"#, #"ADD COLUMN "due" TEXT;"#,
                #"ADD COLUMN "note" TEXT;"#,
            ]
            #expect(lines.count == statements.count)
            for (line, statement) in zip(lines, statements) { #expect(line.contains(statement)) }
            #expect(lines.allSatisfy { $0.contains("--add-columns") != addsColumns })
            guard addsColumns else { return }
            // The next write has nothing to add.
            let next = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body)
            #expect(next.status == 200)
            #expect(log.lines.count { $0.contains("A client writes a column that its table") } == statements.count)
            try await scenario.settle()
        }
    }

    @Test func rowsThatNoStreamGivesBackAreSaid() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { _ in
        } _: { scenario in
            let body = """
                {"data":[
                    {"op":"PUT","type":"lists","id":"a","data":{"name":"Groceries"}},
                    {"op":"PUT","type":"lists","id":"b","data":{"owner_id":"u1"}},
                    {"op":"PATCH","type":"lists","id":"a","data":{"name":"Food"}},
                    {"op":"PUT","type":"todos","id":"c","data":{"title":"Milk"}},
                    {"op":"PUT","type":"settings","id":"d","data":{}},
                    {"op":"PUT","type":"lists","id":"e","data":{}},
                    {"op":"DELETE","type":"lists","id":"e","data":null}
                ]}
                """
            let reply = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body)
            #expect(reply.status == 200, "\(reply.body)")
            let lines = log.lines.filter { $0.contains("A row was written that no stream gives back") }
            try #require(lines.count == 2, "\(lines)")
            #expect(lines[0].contains("id=a") && lines[0].contains("owner_id is NULL") && lines[0].contains("u1"))
            #expect(lines[1].contains("id=c") && lines[1].contains("list_id is NULL"))
            #expect(!lines.joined().contains("Groceries") && !lines.joined().contains("Milk"))
            try await scenario.settle()
        }
    }

    @Test func aRowThatMeetsNoConditionIsSaid() throws {
        let plan = try #require(
            SyncConfig.parse(
                "{config: {edition: 3}, streams: {open: {query: SELECT * FROM todos WHERE done = 0}}}"
            ).plan
        )
        func reason(_ done: SQLValue, of table: String = "todos") -> String? {
            let row = SourceRow(layout: RowLayout(["id", "done"]), values: [.text("a"), done])
            return UnreturnedWrites.reason(
                for: WrittenRow(table: SourceTableName(schema: "main", name: table), row: row),
                plan
            )
        }
        #expect(reason(.integer(0)) == nil)
        #expect(reason(.integer(1)) == "it meets the condition of no query")
        #expect(reason(.null) == "done is NULL")
        #expect(reason(.null, of: "log") == nil)
    }

    @Test func writesAreApplied() async throws {
        try await Scenario.run { scenario in
            let reply = try await scenario.send(
                "POST",
                "/dev/write",
                token: try scenario.token(),
                body: """
                    {"data":[
                        {"op_id":1,"op":"PUT","type":"lists","id":"a","tx_id":1,"data":{"owner_id":"u1","name":"A"}},
                        {"op":"PATCH","type":"lists","id":"a","data":{"name":"B"}},
                        {"op":"PUT","type":"lists","id":"b","data":{"owner_id":"u1"}},
                        {"op":"DELETE","type":"lists","id":"b","data":null}
                    ]}
                    """
            )
            #expect(reply.body == #"{"data":{"applied":4}}"#)
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            var rows: [String] = []
            while let line = try await stream.next(), line["checkpoint_complete"] == nil {
                rows += line.object("data").objects("data").compactMap { $0.text("data") }
            }
            #expect(rows.contains(#"{"id":"a","name":"B"}"#))
        }
    }

    @Test func aWriteWithHalfACharacterIsAppliedOrRejectedByItself() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            let good = #"{"op_id":1,"op":"PUT","type":"lists","id":"a","data":{"owner_id":"u1","name":"Ann \ud83d"}}"#
            let bad = #"{"op_id":2,"op":"PUT","type":"lists","id":"b\ud83d","data":{"owner_id":"u1"}}"#
            let body = #"{"client_id":"c","data":[\#(good),\#(bad)]}"#
            let reply = try await scenario.send("POST", "/dev/write", token: token, body: body)
            #expect(reply.status == 200, "\(reply.body)")
            #expect(try reply.json["applied_through"] == 1)
            let rejections = try reply.json.objects("rejections")
            #expect(rejections.map { $0.text("code") } == ["malformed"] && rejections.first?["op_id"] == 2)
            try await scenario.settle()
            var stream = try await scenario.stream(token)
            var rows: [String] = []
            while let line = try await stream.next(), line["checkpoint_complete"] == nil {
                rows += line.object("data").objects("data").compactMap { $0.text("data") }
            }
            #expect(rows == [#"{"id":"a","name":"Ann \#u{fffd}"}"#])
        }
    }

    @Test(arguments: [true, false])
    func tokensAreSignedForAnyUser(_ hasKey: Bool) async throws {
        try await Scenario.run(configure: { configuration in
            configuration.development.tokenEndpoint = true
            if !hasKey { configuration.authentication = ClientAuthentication() }
        }) { scenario in
            let reply = try await scenario.send("POST", "/dev/token", body: #"{"user_id":"u7"}"#)
            #expect(reply.status == 200)
            let data = try reply.json.object("data")
            #expect(data.text("user_id") == "u7")
            var stream = try await scenario.stream(try #require(data.text("token")))
            #expect(try await stream.summary()?.contains(#"lists|0["u7"]"#) == true)
            #expect(try await scenario.send("POST", "/dev/token", body: "{}").status == 400)
        }
    }

    // MARK: Web pages

    private static let preflight = ["Access-Control-Request-Method": "POST"]

    /// Runs a service with both endpoints.
    private static func runBoth(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(configure: { $0.development.tokenEndpoint = true }, body)
    }

    @Test(arguments: ["https://evil.example", "http://localhost.evil.example", "http://192.168.1.7:8080", "null"])
    func pagesOfOtherPlacesAreRefused(_ origin: String) async throws {
        try await Self.runBoth { scenario in
            let headers = ["Origin": origin]
            for path in ["/dev/token", "/dev/write"] {
                let asked = try await scenario.send(
                    "OPTIONS",
                    path,
                    headers: headers.merging(Self.preflight) { first, _ in first }
                )
                let token = try scenario.token()
                let body = #"{"user_id":"u7","data":[]}"#
                let done = try await scenario.send("POST", path, token: token, headers: headers, body: body)
                for reply in [asked, done] {
                    #expect(reply.status == 403, "\(path)")
                    #expect(try reply.error("code") == "PSYNC_S2001")
                    #expect(reply.headers.keys.allSatisfy { !$0.hasPrefix("access-control-") }, "\(path)")
                }
            }
            // A slash more is the same route, and leads around nothing.
            let reply = try await scenario.send("POST", "//dev/token", headers: headers, body: #"{"user_id":"u7"}"#)
            #expect(reply.status == 403 && reply.headers["access-control-allow-origin"] == nil)
            // Everything else is for them, too.
            let probe = try await scenario.send("GET", "/probes/liveness", headers: headers)
            #expect(probe.headers["access-control-allow-origin"] == "*")
        }
    }

    @Test(arguments: ["http://localhost:5173", "https://app.localhost", "http://127.0.0.1:3000", "http://[::1]:8000"])
    func pagesOfThisMachineAreAnswered(_ origin: String) async throws {
        try await Self.runBoth { scenario in
            let headers = ["Origin": origin]
            let asked = try await scenario.send(
                "OPTIONS",
                "/dev/token",
                headers: headers.merging(Self.preflight) { first, _ in first }
            )
            #expect(asked.status == 204)
            let signed = try await scenario.send("POST", "/dev/token", headers: headers, body: #"{"user_id":"u7"}"#)
            #expect(signed.status == 200)
            let token = try signed.json.object("data").text("token")
            let body = #"{"data":[{"op":"PUT","type":"lists","id":"a","data":{"owner_id":"u7"}}]}"#
            let written = try await scenario.send("POST", "/dev/write", token: token, headers: headers, body: body)
            #expect(written.body == #"{"data":{"applied":1}}"#)
            for reply in [asked, signed, written] {
                #expect(reply.headers["access-control-allow-origin"] == origin)
                #expect(reply.headers["vary"] == "Origin")
            }
        }
    }

    @Test func programsAreAnsweredByAddressesAndKnownNames() async throws {
        try await Self.runBoth { scenario in
            let body = #"{"user_id":"u7"}"#
            let plain = try await scenario.send("POST", "/dev/token", body: body)
            #expect(plain.status == 200 && plain.headers["access-control-allow-origin"] == nil)
            for (host, status) in [
                ("localhost:8080", 200), ("192.168.1.7:8080", 200), ("evil.example", 403), ("evil.example:8080", 403),
            ] {
                let reply = try await scenario.send("POST", "/dev/token", headers: ["Host": host], body: body)
                #expect(reply.status == status, "\(host)")
            }
            let write = try await scenario.send(
                "POST",
                "/dev/write",
                token: try scenario.token(),
                headers: ["Host": "evil.example"],
                body: #"{"data":[]}"#
            )
            #expect(write.status == 403)
            #expect(try write.error("code") == "PSYNC_S2001")
        }
    }

    @Test(arguments: [
        ("/dev/token", "localhost", "200"), ("http://localhost/dev/token", "evil.example", "200"),
        ("HTTP://127.0.0.1:8080/dev/token", "evil.example", "200"),
        ("http://[::1]/dev/token", "evil.example", "200"),
        ("http://evil.example/dev/token", "localhost", "403"),
        ("https://evil.example//dev/token", "localhost", "403"),
        ("xy://evil.example:1/dev/token", "localhost", "403"),
        ("http://evil.example/%64ev/token", "localhost", "403"), ("/d%65v//tok%65n", "evil.example", "403"),
    ])
    func aHostInTheTargetCountsAndNotTheOneInTheHeader(_ target: String, _ host: String, _ status: String) async throws
    {
        try await Self.runBoth { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let body = #"{"user_id":"u7"}"#
                try await connection.send(
                    """
                    POST \(target) HTTP/1.1\r
                    Host: \(host)\r
                    Content-Type: application/json\r
                    Content-Length: \(body.utf8.count)\r
                    Connection: close\r
                    \r
                    \(body)
                    """
                )
                let text = try await connection.textUntilClosed()
                #expect(RawRequests.statuses(of: text) == [status], "\(text)")
            }
        }
    }

    @Test func bothEndpointsAreOffUnlessSwitchedOn() async throws {
        try await Scenario.run(configure: { $0.development = DevelopmentEndpoints() }) { scenario in
            for path in ["/dev/token", "/dev/write"] {
                let status = try await scenario.status("POST", path, token: try scenario.token(), body: "{}")
                #expect(status == 404)
            }
        }
    }
}

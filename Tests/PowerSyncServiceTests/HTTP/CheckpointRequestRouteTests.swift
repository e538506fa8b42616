import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// `POST /sync/checkpoint-request` (docs/protocol.md "Write checkpoints").
@Suite(.timeLimit(.minutes(1))) struct CheckpointRequestRouteTests {
    private typealias Scenario = ServiceScenario

    private func request(
        _ scenario: Scenario,
        _ body: JSONObject,
        user: String = "u1",
        query: String = ""
    ) async throws -> Scenario.Reply {
        try await scenario.send(
            "POST",
            "/sync/checkpoint-request" + query,
            token: try scenario.token(user),
            body: body.text
        )
    }

    private func answer(_ id: String) -> String { #"{"data":{"checkpoint_request_id":"\#(id)"}}"# }

    @Test func theAnswerIsTheLargestNumberSoFar() async throws {
        try await Scenario.run { scenario in
            for (sent, answered) in [
                ("5", "5"), ("3", "5"), ("5", "5"), (7, "7"), (9_007_199_254_740_991, "9007199254740991"),
                ("9223372036854775807", "9223372036854775807"), ("1", "9223372036854775807"),
            ] as [(ExactJSON, String)] {
                let reply = try await request(scenario, ["client_id": "c9", "checkpoint_request_id": sent])
                #expect(reply.status == 200)
                #expect(reply.body == answer(answered))
            }
            // Per user and client; the query counts as much as the body (2.1).
            let other = try await request(scenario, ["checkpoint_request_id": "2"], query: "?client_id=c8")
            #expect(other.body == answer("2"))
            let user = try await request(scenario, ["client_id": "c9", "checkpoint_request_id": "1"], user: "u2")
            #expect(user.body == answer("1"))
        }
    }

    @Test(
        arguments: [
            ["client_id": "c9", "checkpoint_request_id": "0"], ["client_id": "c9", "checkpoint_request_id": "-1"],
            ["client_id": "c9", "checkpoint_request_id": "9223372036854775808"],
            ["client_id": "c9", "checkpoint_request_id": ""], ["client_id": "c9", "checkpoint_request_id": " 5"],
            ["client_id": "c9", "checkpoint_request_id": "5.0"], ["client_id": "c9", "checkpoint_request_id": 0],
            ["client_id": "c9", "checkpoint_request_id": -5], ["client_id": "c9", "checkpoint_request_id": 1.5],
            ["client_id": "c9", "checkpoint_request_id": 9_007_199_254_740_992],
            ["client_id": "c9", "checkpoint_request_id": nil], ["client_id": "c9", "checkpoint_request_id": true],
            ["client_id": "c9"], ["checkpoint_request_id": "5"], ["client_id": 9, "checkpoint_request_id": "5"], [:],
        ] as [JSONObject]
    )
    func with22234BodiesAreChecked(_ body: JSONObject) async throws {
        try await Scenario.run { scenario in
            let reply = try await request(scenario, body)
            #expect(reply.status == 400)
            #expect(try reply.error("code") == "PSYNC_S2001")
            #expect(try reply.error("name") == "ValidationError")
            #expect(
                try reply.error("details")?.contains(body["checkpoint_request_id"] == "5" ? "client_id" : "") == true
            )
            // Nothing was recorded.
            let next = try await request(scenario, ["client_id": "c9", "checkpoint_request_id": "1"])
            #expect(next.body == answer("1"))
        }
    }

    @Test func strangersAndOtherMethodsAreRefused() async throws {
        try await Scenario.run { scenario in
            let body = #"{"client_id":"c1","checkpoint_request_id":"1"}"#
            let stranger = try await scenario.send("POST", "/sync/checkpoint-request", body: body)
            #expect(stranger.status == 401)
            #expect(try stranger.error("code") == "PSYNC_S2106")
            let method = try await scenario.send("GET", "/sync/checkpoint-request", token: try scenario.token())
            #expect(method.status == 404)
            let type = try await scenario.send(
                "POST",
                "/sync/checkpoint-request",
                token: try scenario.token(),
                headers: ["Content-Type": "application/xml"],
                body: "<a/>"
            )
            #expect(type.status == 415)
        }
    }

    /// Sends a head without its body, tells when the answer is that there is no place, and waits until it is cancelled.
    private static func sendHead(_ head: String, to port: Int, refused: ChangeSignal) async throws {
        try await RawConnection.connect(port: port) { connection in
            try await connection.send(head)
            let answer = try await connection.text(until: "\r\n\r\n")
            if RawRequests.statuses(of: answer) == ["429"] { refused.advance() }
            while try await connection.read() != nil {}
        }
    }

    private static func wait(for count: UInt64, of signal: ChangeSignal) async throws {
        while true {
            let seen = signal.version
            if seen >= count { return }
            try await signal.wait(after: seen)
        }
    }

    /// There are 200 places for all, and a user may have 100 of them: without that, nobody would be refused here.
    @Test func aUserWhoseBodiesDoNotComeDoesNotTakeThePlacesOfOthers() async throws {
        // Bodies have all the time that there is.
        try await Scenario.run(timing: TestClock().timing) { scenario in
            let token = try scenario.token(now: TestClock.start)
            let fields = ["Authorization: Token \(token)", "Content-Type: application/json", "Content-Length: 10"]
            let head = RawRequests.request("POST /sync/checkpoint-request", fields)
            let other = try scenario.token("u2", now: TestClock.start)
            let (port, refused) = (scenario.address.port, ChangeSignal())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask { try await Self.sendHead(head, to: port, refused: refused) }
                }
                try await Self.wait(for: 100, of: refused)
                #expect(try await scenario.status("GET", "/write-checkpoint2.json", token: other) == 200)
                let post = try await scenario.send(
                    "POST",
                    "/sync/checkpoint-request",
                    token: other,
                    body: #"{"client_id":"c1","checkpoint_request_id":"1"}"#
                )
                #expect(post.body == answer("1"))
                group.cancelAll()
            }
            #expect(refused.version == 100)
        }
    }

    @Test func aNumberComesBackOnTheStreamOfItsClientAlsoWhenTheSourceIsIdle() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            var own = try await scenario.stream(token, ["client_id": "c1"])
            #expect(try await own.untilComplete() == ["checkpoint 0: 1#lists|0[\"u1\"] ×0 p1", "complete 0"])
            for number in ["5", "8"] {
                _ = try await request(scenario, ["client_id": "c1", "checkpoint_request_id": .string(number)])
                #expect(try await own.untilComplete() == ["diff 0 write \(number):  -[]", "complete 0"])
            }
            // A stale number brings nothing: the next line is about the row.
            _ = try await request(scenario, ["client_id": "c1", "checkpoint_request_id": "6"])
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
            #expect(try await own.untilComplete().first?.hasPrefix("diff 2 write 8: ") == true)
            // The counter goes on from there, and a new stream begins with the number.
            let reply = try await scenario.send("GET", "/write-checkpoint2.json?client_id=c1", token: token)
            #expect(reply.body == #"{"data":{"write_checkpoint":"9"}}"#)
            #expect(try await own.untilComplete().first?.hasPrefix("diff 2 write 9: ") == true)
            var again = try await scenario.stream(token, ["client_id": "c1"])
            #expect(try await again.summary()?.hasPrefix("checkpoint 2 write 9: ") == true)
            var other = try await scenario.stream(token, ["client_id": "c2"])
            #expect(try await other.summary()?.hasPrefix("checkpoint 2: ") == true)
        }
    }
}

import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Write checkpoints over HTTP (docs/protocol.md "Write checkpoints").
@Suite(.timeLimit(.minutes(1))) struct WriteCheckpointRouteTests {
    private typealias Scenario = ServiceScenario

    @Test func aWriteCheckpointComesBackOnTheStreamOfItsClientAlsoWhenTheSourceIsIdle() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            var own = try await scenario.stream(token, ["client_id": "c1"])
            var other = try await scenario.stream(token, ["client_id": "c2"])
            var anonymous = try await scenario.stream(token)
            #expect(try await own.untilComplete() == ["checkpoint 0: 1#lists|0[\"u1\"] ×0 p1", "complete 0"])
            _ = try await other.untilComplete()
            _ = try await anonymous.untilComplete()

            for number in ["1", "2"] {
                let reply = try await scenario.send("GET", "/write-checkpoint2.json?client_id=c1", token: token)
                #expect(reply.body == #"{"data":{"write_checkpoint":"\#(number)"}}"#)
                #expect(try await own.untilComplete() == ["diff 0 write \(number):  -[]", "complete 0"])
            }

            // Others see nothing of it: the next line they get is about a row.
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
            for var stream in [other, anonymous] {
                let lines = try await stream.untilComplete()
                #expect(lines.first?.hasPrefix("diff 2: ") == true, "\(lines)")
            }
            // Repeated in every line of its client, and in the first line of a new stream.
            #expect(try await own.untilComplete().first?.hasPrefix("diff 2 write 2: ") == true)
            var again = try await scenario.stream(token, ["client_id": "c1"])
            #expect(try await again.summary()?.hasPrefix("checkpoint 2 write 2: ") == true)
        }
    }

    @Test func theKeyIsTheUserAndTheClientIfItHasAnId() async throws {
        try await Scenario.run { scenario in
            for (user, path, number) in [
                ("u1", "?client_id=a%20b", "1"), ("u1", "", "1"), ("u1", "?client_id=a%20b", "2"), ("u2", "", "1"),
                ("u1", "", "2"),
            ] {
                let reply = try await scenario.send(
                    "GET",
                    "/write-checkpoint2.json" + path,
                    token: try scenario.token(user),
                    headers: ["Content-Type": "application/json"]
                )
                #expect(reply.body == #"{"data":{"write_checkpoint":"\#(number)"}}"#)
            }
            // A parameter of the query counts as much as one of the body (2.1).
            var stream = try await scenario.stream(try scenario.token(), query: "?client_id=a%20b")
            while let line = try await stream.summary() {
                if line.contains(" write 2") { break }
            }
        }
    }

    @Test func aClientWritesAsksForAWriteCheckpointAndGetsItTogetherWithItsRow() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token()
            var stream = try await scenario.stream(token, ["client_id": "c1"])
            _ = try await stream.untilComplete()
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
            _ = try await scenario.send("GET", "/write-checkpoint2.json?client_id=c1", token: token)
            var hasRow = false
            while let line = try await stream.summary() {
                hasRow = hasRow || line.hasPrefix("data 1#lists")
                if line.contains(" write 1") {
                    // The row is in this checkpoint, or was in one before.
                    #expect(hasRow || line.contains("×1"))
                    break
                }
            }
        }
    }

    @Test(arguments: [256, 257])
    func theIdOfAClientHasAtMost256BytesWhereverItIsSent(_ length: Int) async throws {
        try await ServiceScenario.run { scenario in
            let id = String(repeating: "c", count: length)
            let token = try scenario.token()
            let expected = length > 256 ? 400 : 200
            let get = try await scenario.status("GET", "/write-checkpoint2.json?client_id=\(id)", token: token)
            let request = #"{"client_id":"\#(id)","checkpoint_request_id":"5"}"#
            let post = try await scenario.status("POST", "/sync/checkpoint-request", token: token, body: request)
            let stream = try await scenario.status(
                "POST",
                "/sync/stream",
                token: token,
                body: #"{"client_id":"\#(id)"}"#
            )
            #expect([get, post, stream] == [expected, expected, expected])
        }
    }

    @Test func whereRowsTellWriteCheckpointsTheServiceRefusesToMakeThem() async throws {
        let events = """

            event_definitions:
              write_checkpoints:
                payloads: ["SELECT user_id, client_id, checkpoint FROM checkpoints"]
            """
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { configuration in
            configuration.source = .embedded(
                path: folder.path("source.db"),
                statements: Scenario.tables + [
                    "CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, user_id TEXT, client_id TEXT, checkpoint INTEGER)"
                ]
            )
            configuration.syncConfig = .content(Scenario.syncConfig + events)
        } _: { scenario in
            let token = try scenario.token()
            var stream = try await scenario.stream(token, ["client_id": "c1"])
            _ = try await stream.untilComplete()
            let body = #"{"client_id":"c1","checkpoint_request_id":"5"}"#
            for reply in [
                try await scenario.send("GET", "/write-checkpoint2.json?client_id=c1", token: token),
                try await scenario.send("POST", "/sync/checkpoint-request", token: token, body: body),
            ] {
                #expect(reply.status == 400)
                #expect(try reply.error("code") == "PSYNC_S2001")
                #expect(
                    try reply.error("description")?.hasPrefix("Attempting to create a managed Write Checkpoint") == true
                )
                #expect(try reply.error("details")?.contains("complete(writeCheckpoint:)") == true)
            }
            try await scenario.write(
                Scenario.put("checkpoints", "1", ["user_id": "u1", "client_id": "c1", "checkpoint": 41])
            )
            let lines = try await stream.untilComplete()
            #expect(lines.first?.contains(" write 41") == true, "\(lines)")
        }
    }
}

import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// Urgent data overtakes a long download, and the end of connections (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(3))) struct SyncStreamInterruptionTests {
    private typealias Scenario = ServiceScenario

    @Test func aNewerCheckpointInterruptsALongDownloadEveryOperationArrivesOnce() async throws {
        try await Scenario.run { scenario in
            // Much more than the operations that are sent without a look at newer checkpoints.
            let rowCount = 4_000
            try await Self.write(rows: rowCount, to: scenario)
            // What the network holds depends on the machine, credit does not: the service stops where the test wants it to.
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                var operations = 0
                var ids: Set<String> = []
                func take(_ line: JSONObject) {
                    for operation in line.object("data").objects("data") {
                        operations += 1
                        ids.insert(operation.text("op_id") ?? "")
                    }
                }
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 1))
                while true {
                    take(try await peer.payload())
                    if operations >= rowCount / 4 { break }
                    try await peer.send(.requestN(StreamID(1), RequestN(clamping: 1)))
                }

                try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Urgent"]))
                try await scenario.settle()
                try await peer.send(.requestN(StreamID(1), .maximum))

                var kinds: [String] = []
                repeat {
                    let line = try await peer.payload()
                    take(line)
                    let kind = try #require(line.members.first?.name)
                    // Signs of life come whenever it is time.
                    if kind != "token_expires_in" { kinds.append(kind) }
                } while kinds.last != "checkpoint_complete"
                let diff = try #require(kinds.firstIndex(of: "checkpoint_diff"))
                #expect(Array(kinds[diff...].prefix(3)) == ["checkpoint_diff", "data", "partial_checkpoint_complete"])
                #expect(kinds[(diff + 3)...].contains("data"))
                #expect(operations == rowCount + 2)
                #expect(ids.count == operations)
            }
        }
    }

    @Test func aClientThatGoesAwayEndsItsStream() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            do {
                var stream = try await scenario.stream(try scenario.token(), ["client_id": "c1"])
                _ = try await stream.untilComplete()
            }
            let line = try await log.line(containing: "Sync stream complete")
            #expect(line.contains("close_reason=client closing stream"))
            #expect(line.contains("client_id=c1"))
            let start = try await log.line(containing: "Sync stream started")
            #expect(Self.requestID(start) == Self.requestID(line))
        }
    }

    @Test func aParameterThatNoDoubleCanHoldIsNULLWithAWarning() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            for body in [#"{"parameters": {"n": [1e400]}}"#, #"{"parameters": {"n": 1e308}}"#] {
                let status = try await scenario.status(
                    "POST",
                    "/sync/stream",
                    token: try scenario.token(),
                    body: body
                )
                #expect(status == 200)
            }
            #expect(log.lines.filter { $0.contains("a number beyond the range of doubles") }.count == 1)
        }
    }

    @Test func shutdownBreaksStreamsOffWhetherIdleOrBlockedByASlowClient() async throws {
        let log = CollectedLog()
        var idle: StreamReader?
        var slow: StreamReader?
        try await Scenario.run(log: log) { scenario in
            try await Self.write(rows: 400, to: scenario)
            idle = try await scenario.stream(try scenario.token("u2"))
            _ = try await idle?.untilComplete()
            slow = try await scenario.stream(try scenario.token("u1"))
            _ = try await slow?.next()
        }
        for var stream in [idle, slow].compactMap(\.self) {
            await #expect(throws: (any Error).self) {
                while try await stream.chunk() != nil {}
            }
        }
        #expect(log.lines.filter { $0.contains("close_reason=process shutdown") }.count == 2)
    }

    @Test func aStreamMoreThanAllowedGets429WithAnEmptyBody() async throws {
        try await Scenario.run(configure: { $0.limits.maxConcurrentConnections = 1 }) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            let reply = try await scenario.send("POST", "/sync/stream", token: try scenario.token(), body: "{}")
            #expect(reply.status == 429)
            #expect(reply.body.isEmpty)
            #expect(reply.headers["retry-after"] == "5")
            #expect(reply.headers["access-control-allow-origin"] == "*")
            // Still open, and other routes are not concerned.
            #expect(try await scenario.send("GET", "/probes/liveness").status == 200)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func streamsOfAUser() async throws {
        try await Scenario.run(configure: { $0.limits.maxStreamsPerUser = 2 }) { scenario in
            let token = try scenario.token("u1")
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: token), .request(1, credit: 100))
                _ = try await peer.lines(2)
                var stream: StreamReader? = try await scenario.stream(token)
                _ = try await stream?.untilComplete()
                let reply = try await scenario.send("POST", "/sync/stream", token: token, body: "{}")
                #expect(reply.status == 429)
                #expect(try reply.error("code") == "PSYNC_S2304")
                #expect(reply.headers["retry-after"] == "5")
                try await peer.send(.request(3, credit: 100))
                guard case .error(let error) = try await peer.next() else {
                    Issue.record("no ERROR")
                    return
                }
                #expect(error.message.hasPrefix("[PSYNC_S2304]"), "\(error.message)")
                var other = try await scenario.stream(try scenario.token("u2"))
                #expect(try await other.untilComplete().last?.hasPrefix("complete") == true)
                withExtendedLifetime(stream) {}
                stream = nil
            }
        }
    }

    @Test func idleConnectionsOfAUser() async throws {
        try await Scenario.run(configure: { configuration in
            configuration.limits.maxStreamsPerUser = 2
            configuration.limits.maxConcurrentConnections = 3
        }) { scenario in
            let token = try scenario.token("u1")
            /// Opens a connection of the user, of which the only request is refused.
            func withIdleConnection(_ body: () async throws -> Void) async throws {
                try await RSocketPeer.connect(port: scenario.address.port) { peer in
                    let frames: [Frame] = [.setup(token: token), .request(1, path: "/other", credit: 1)]
                    for frame in frames { try await peer.send(frame) }
                    guard case .error(let error) = try await peer.next() else {
                        Issue.record("no ERROR")
                        return
                    }
                    #expect(error.message.hasPrefix("[PSYNC_S2002]"), "\(error.message)")
                    try await body()
                }
            }
            try await withIdleConnection {
                try await withIdleConnection {
                    let reply = try await scenario.send("POST", "/sync/stream", token: token, body: "{}")
                    #expect(reply.status == 429)
                    #expect(try reply.error("code") == "PSYNC_S2304")
                    try await RSocketPeer.connect(port: scenario.address.port) { refused in
                        try await refused.send(.setup(token: token))
                        guard case .error(let error) = try await refused.next() else {
                            Issue.record("no ERROR")
                            return
                        }
                        #expect(error.message.hasPrefix("[PSYNC_S2304]"), "\(error.message)")
                    }
                    var other = try await scenario.stream(try scenario.token("u2"))
                    #expect(try await other.untilComplete().last?.hasPrefix("complete") == true)
                }
            }
        }
    }

    /// Writes 16 MB of todos in one list of `u1`: more than the buffers between service and client hold, so that the
    /// service has to wait for the reader.
    private static func write(rows count: Int, to scenario: Scenario) async throws {
        let title = String(repeating: "x", count: 16_000_000 / count)
        try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
        for start in stride(from: 0, to: count, by: count / 4) {
            let rows = (start..<start + count / 4).map {
                Scenario.put("todos", "t\($0)", ["list_id": "l1", "title": .string(title)])
            }
            try await scenario.write(rows)
        }
        try await scenario.settle()
    }

    private static func requestID(_ line: String) -> Substring? {
        line.split(separator: " ").first { $0.hasPrefix("rid=") }
    }
}

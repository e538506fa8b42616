import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// A device that has subscribed to a thousand pages, and to more: everything else goes on (docs/sync-config.md "Limits of a connection").
@Suite(.timeLimit(.minutes(1))) struct SubscriptionLimitTests {
    private typealias Scenario = ServiceScenario

    private static let config = """
        config: {edition: 3}
        streams:
          lists: {auto_subscribe: true, query: "SELECT id, name FROM lists"}
          by_list: {query: "SELECT id, title FROM todos WHERE list_id = subscription.parameter('list')"}
          mine: {query: "SELECT id, value FROM settings WHERE value IN (SELECT name FROM lists WHERE owner_id = auth.user_id())"}
        """

    private static func run(log: CollectedLog = CollectedLog(), _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            log: log,
            configure: {
                $0.syncConfig = .content(config)
                $0.limits.maxParameterQueryResults = 3
            },
            body
        )
    }

    private static func subscription(_ stream: String, _ parameters: JSONObject = [:]) -> ExactJSON {
        ["stream": .string(stream), "parameters": .object(parameters), "override_priority": .null]
    }

    /// A request with as many pages, and others behind them.
    private static func request(pages: Int, _ others: String...) -> JSONObject {
        let pages = (0..<pages).map { subscription("by_list", ["list": .string("p\($0)")]) }
        return [
            "buckets": [], "client_id": "c1", "raw_data": true,
            "streams": ["subscriptions": .array(pages + others.map { subscription($0) })],
        ]
    }

    /// The subscriptions with an error for the limit, in a checkpoint line.
    private static func refused(_ line: JSONObject, _ stream: String = "by_list") -> [String] {
        let streams = line.object("checkpoint").objects("streams").filter { $0.text("name") == stream }
        let errors = streams.flatMap { $0.objects("errors") }
        return errors.filter { $0.text("message")?.contains("PSYNC_S2305") == true }.compactMap {
            $0.text("subscription")
        }
    }

    @Test(arguments: [999, 1_000, 1_001, 3_000])
    func overHTTPTheDefaultStreamsGoOn(pages: Int) async throws {
        try await Self.run { scenario in
            try await scenario.write(
                Scenario.put("lists", "l1", ["name": "Groceries"]),
                Scenario.put("todos", "t1", ["list_id": "p998", "title": "Milk"])
            )
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token(), Self.request(pages: pages))
            let first = try #require(try await stream.next())
            // One of the thousand buckets is that of the lists.
            #expect(Self.refused(first) == (min(pages, 999)..<pages).map { "\($0)" })
            #expect(first.object("checkpoint").objects("buckets").count == 1_000)
            let lines = try await stream.untilComplete()
            #expect(lines.filter { $0.hasPrefix("data ") }.count == 2, "\(lines)")
            try await scenario.write(Scenario.put("lists", "l2", ["name": "Work"]))
            #expect(try await stream.untilComplete().contains { $0.hasPrefix("data 1#lists|0[]") })
        }
    }

    @Test func overWebSocketTheDefaultStreamsGoOn() async throws {
        try await Self.run { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["name": "Groceries"]))
            try await scenario.settle()
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                let request = RequestStreamFrame(
                    streamID: StreamID(1),
                    initialRequestN: RequestN(clamping: 100),
                    payload: Payload(
                        metadata: ByteBuffer(string: #"{"path":"/sync/stream"}"#),
                        data: ByteBuffer(string: Self.request(pages: 1_200).text)
                    )
                )
                try await peer.send(.setup(token: try scenario.token()), .requestStream(request))
                let first = try await peer.payload()
                #expect(Self.refused(first) == (999..<1_200).map { "\($0)" })
                #expect(try await peer.payload().summary.hasPrefix("data 1#lists|0[]"))
            }
        }
    }

    @Test func whatHasNoRoomAnyMoreIsToldAndComesBackWhenThereIsRoom() async throws {
        let log = CollectedLog()
        try await Self.run(log: log) { scenario in
            func list(_ id: String) -> JSONObject {
                Scenario.put("lists", id, ["name": .string(id), "owner_id": "u1"])
            }
            try await scenario.write(list("l1"), list("l2"), list("l3"))
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token(), Self.request(pages: 1, "mine"))
            let first = try #require(try await stream.next())
            #expect(Self.refused(first, "mine").isEmpty)
            #expect(first.object("checkpoint").objects("buckets").count == 5)
            _ = try await stream.untilComplete()

            try await scenario.write(list("l4"))
            let second = try #require(try await stream.next())
            #expect(Self.refused(second, "mine") == ["1"])
            #expect(second.object("checkpoint").objects("buckets").count == 2)
            #expect(try await stream.untilComplete().contains { $0.hasPrefix("data 1#lists|0[]") })
            let line = try await log.line(containing: "Subscriptions get nothing")
            #expect(line.hasPrefix("warning ") && line.contains("mine: lists: 4"), "\(line)")

            try await scenario.write(Scenario.delete("lists", "l2"))
            let third = try #require(try await stream.next())
            #expect(Self.refused(third, "mine").isEmpty)
            #expect(third.object("checkpoint").objects("buckets").count == 5)
            #expect(try await stream.untilComplete().last?.hasPrefix("complete") == true)
        }
    }

    @Test func theLogSaysWhichLookupsAreTooMany() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log, configure: { $0.limits.maxParameterQueryResults = 3 }) { scenario in
            let rows = (0..<4).map { Scenario.put("lists", "l\($0)", ["owner_id": "u1"]) }
            try await scenario.write(rows)
            try await scenario.settle()
            let status = try await scenario.status("POST", "/sync/stream", token: try scenario.token(), body: "{}")
            #expect(status == 500)
            let line = try await log.line(containing: "PSYNC_S2305")
            #expect(line.contains("todos: lists: 4") && line.contains("raise max_parameter_query_results"), "\(line)")

            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 10))
                guard case .error(let error) = try await peer.next() else {
                    Issue.record("no error")
                    return
                }
                #expect(error.message.contains("PSYNC_S2305") && error.message.contains("todos"), "\(error.message)")
            }
            #expect(log.lines.filter { $0.contains("todos: lists: 4") }.count == 2, "\(log.lines)")
        }
    }
}

import NIOCore
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// What `POST /sync/stream` sends over a socket.
@Suite(.timeLimit(.minutes(2))) struct SyncStreamTests {
    private typealias Scenario = ServiceScenario

    /// A service with two lists of `u1` that have two todos, and one list of `u2`.
    private static func run(
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await Scenario.run(configure: configure) { scenario in
            try await scenario.write(
                Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]),
                Scenario.put("lists", "l2", ["owner_id": "u2", "name": "Other"]),
                Scenario.put("todos", "t1", ["list_id": "l1", "title": "Milk"]),
                Scenario.put("todos", "t2", ["list_id": "l1", "title": "Bread \"rye\"\u{2028}"])
            )
            try await scenario.settle()
            try await body(scenario)
        }
    }

    /// Entries of the parameter index for both lists have op ids, too: 2 and 4.
    private static let firstLines = [
        #"checkpoint 6: 1#lists|0["u1"] ×1 p1, 1#todos|0["l1"] ×2 p3"#,
        #"data 1#lists|0["u1"] 0…1 ×1"#,
        "partial 1",
        #"data 1#todos|0["l1"] 0…6 ×2"#,
        "complete 6",
    ]

    @Test func aFirstSyncInTheOrderOfPriorities() async throws {
        try await Self.run { scenario in
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete() == Self.firstLines)
        }
    }

    @Test func linesAreWellFormedAndChecksumsAddUp() async throws {
        try await Self.run { scenario in
            var stream = try await scenario.stream(try scenario.token())
            var announced: [String: Checksum] = [:]
            var sums: [String: Checksum] = [:]
            while let line = try await stream.next(), line["checkpoint_complete"] == nil {
                #expect(line.members.count == 1)
                for bucket in line.object("checkpoint").objects("buckets") {
                    guard case .integer(let checksum) = bucket["checksum"] else {
                        Issue.record("\(bucket.text)")
                        return
                    }
                    #expect(checksum >= Int32.min && checksum <= Int32.max)
                    announced[bucket.text("bucket") ?? ""] = Checksum(truncating: checksum)
                }
                let data = line.object("data")
                var last = Int64(data.text("after") ?? "0") ?? 0
                for operation in data.objects("data") {
                    let id = try #require(OpID(decimal: operation.text("op_id") ?? ""))
                    #expect(id.rawValue > last)
                    last = id.rawValue
                    guard case .integer(let checksum) = operation["checksum"], checksum >= 0 else {
                        Issue.record("\(operation.text)")
                        return
                    }
                    sums[data.text("bucket") ?? "", default: .zero] += Checksum(truncating: checksum)
                }
                if !data.members.isEmpty { #expect(data.text("next_after") == "\(last)") }
            }
            #expect(sums == announced)
            #expect(sums.count == 2)
        }
    }

    @Test(arguments: [true, false])
    func rowsAreStringsOrObjectsAsAskedFor(_ isRaw: Bool) async throws {
        try await Self.run { scenario in
            var stream = try await scenario.stream(try scenario.token(), isRaw ? ["raw_data": true] : [:])
            while let line = try await stream.next() {
                guard let operation = line.object("data").objects("data").first else { continue }
                let row: JSONObject = ["id": "l1", "name": "Groceries"]
                if isRaw {
                    #expect(operation["data"] == .string(row.text))
                } else {
                    #expect(operation["data"] == .object(row))
                }
                break
            }
        }
    }

    @Test func dataIsSentFromThePositionsOfTheRequestUnknownBucketsAreIgnored() async throws {
        try await Self.run { scenario in
            let lists = #"1#lists|0["u1"]"#
            let todos = #"1#todos|0["l1"]"#
            let nothing = [Self.firstLines[0], "partial 1", "complete 6"]
            for (buckets, lines) in [
                ([(lists, "6"), (todos, "6")], nothing),
                ([(lists, "9"), (todos, "9"), ("9#unknown[]", "1")], nothing),
                (
                    [(lists, "1"), (todos, "5")],
                    [Self.firstLines[0], "partial 1", #"data 1#todos|0["l1"] 5…6 ×1"#, "complete 6"]
                ),
            ] {
                let positions = buckets.map { ExactJSON.object(["name": .string($0.0), "after": .string($0.1)]) }
                var stream = try await scenario.stream(try scenario.token(), ["buckets": .array(positions)])
                #expect(try await stream.untilComplete() == lines)
            }
        }
    }

    @Test func changesOfThisUsersRowsAreSentThoseOfOthersAreNot() async throws {
        try await Self.run { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            try await scenario.write(Scenario.put("lists", "l2", ["owner_id": "u2", "name": "Not for u1"]))
            try await scenario.settle()
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Changed"]))
            #expect(
                try await stream.untilComplete() == [
                    #"diff 8: 1#lists|0["u1"] ×2 p1 -[]"#, #"data 1#lists|0["u1"] 1…8 ×1"#, "complete 8",
                ]
            )
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u2", "name": "Given away"]))
            let lines = try await stream.untilComplete()
            #expect(
                lines == [
                    #"diff 12: 1#lists|0["u1"] ×3 p1 -["1#todos|0[\"l1\"]"]"#, #"data 1#lists|0["u1"] 8…10 ×1"#,
                    "complete 12",
                ]
            )
        }
    }

    @Test func anUnknownStreamIsLeftOutOfTheStreams() async throws {
        try await Self.run { scenario in
            let subscription: JSONObject = ["stream": "nope", "parameters": nil, "override_priority": nil]
            var stream = try await scenario.stream(
                try scenario.token(),
                ["streams": ["subscriptions": [.object(subscription)]]]
            )
            let checkpoint = try #require(try await stream.next()).object("checkpoint")
            #expect(checkpoint.objects("streams").map { $0.text("name") } == ["lists", "todos"])
            #expect(checkpoint.objects("streams").allSatisfy { $0.text("is_default") == "true" && $0["errors"] == [] })
        }
    }

    @Test func withoutStreamsThereIsNothingToSend() async throws {
        try await Self.run { scenario in
            var stream = try await scenario.stream(
                try scenario.token(),
                ["streams": ["include_defaults": false, "subscriptions": []]]
            )
            #expect(try await stream.untilComplete() == ["checkpoint 6: ", "complete 6"])
        }
    }

    @Test func overlappingSubscriptionsShareABucketWithTheMostUrgentPriority() async throws {
        try await Self.run { scenario in
            func subscription(_ priority: ExactJSON) -> ExactJSON {
                ["stream": "settings", "parameters": [:], "override_priority": priority]
            }
            var stream = try await scenario.stream(
                try scenario.token(),
                ["streams": ["include_defaults": false, "subscriptions": [subscription(2), subscription(0)]]]
            )
            let buckets = try #require(try await stream.next()).object("checkpoint").objects("buckets")
            #expect(buckets.count == 1)
            #expect(buckets.first?["priority"] == 0)
            #expect(buckets.first?["subscriptions"] == [["sub": 0], ["sub": 1]])
        }
    }

    @Test func tooManyBucketsAreAnErrorWithAStatusNotAStream() async throws {
        try await Self.run(configure: { $0.limits.maxBucketsPerConnection = 1 }) { scenario in
            let reply = try await scenario.send("POST", "/sync/stream", token: try scenario.token(), body: "{}")
            #expect(reply.status == 500)
            #expect(try reply.error("code") == "PSYNC_S2305")
            #expect(try reply.error("description") == "Too many buckets: 2 (limit of 1)")
            let details = try reply.error("details")
            #expect(details?.hasPrefix("Most of them are for lists (1). Give clients fewer, larger buckets") == true)
        }
    }

    @Test func tooManyBucketsLater() async throws {
        try await Self.run(configure: { $0.limits.maxBucketsPerConnection = 2 }) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            try await scenario.write(Scenario.put("lists", "l9", ["owner_id": "u1", "name": "One too many"]))
            await #expect(throws: (any Error).self) {
                while try await stream.next() != nil {}
            }
        }
    }

    @Test(arguments: [false, true])
    func bsonIsSentToClientsThatPreferIt(_ isForcedToNDJSON: Bool) async throws {
        try await Self.run(configure: { $0.formats = isForcedToNDJSON ? .ndjsonOnly : .all }) { scenario in
            var stream = try await scenario.stream(
                try scenario.token(),
                accept: "application/vnd.powersync.bson-stream;q=0.9,application/x-ndjson;q=0.8"
            )
            let format = isForcedToNDJSON ? SyncLineFormat.ndjson : .bson
            #expect(stream.contentType == format.mediaType)
            var reader = SyncLineReader(format: format)
            var lines: [SyncLine] = []
            while lines.last != .checkpointComplete(CheckpointComplete(lastOpID: OpID(6))) {
                reader.append(try #require(try await stream.chunk()))
                while let line = try reader.next() { lines.append(line.line) }
            }
            #expect(lines.count == 5)
            guard case .data(let data) = lines[1] else {
                Issue.record("\(lines[1])")
                return
            }
            #expect(data.operations[0].data.flatMap { data.string($0) } == #"{"id":"l1","name":"Groceries"}"#)
        }
    }
}

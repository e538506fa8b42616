import NIOCore
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sessions over the real storage, without HTTP.
@Suite(.timeLimit(.minutes(1))) struct SyncSessionTests {
    private static let config = """
        config: {edition: 3}
        streams:
          g: {auto_subscribe: true, query: SELECT * FROM t}
        """
    /// A bucket for each list of the user.
    private static let listsConfig = """
        config: {edition: 3}
        streams:
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list IN (SELECT id FROM lists WHERE owner = auth.user_id())
        """

    @Test(arguments: TestedStorage.durable)
    func aRowAndAnotherOne(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            let table = try await scenario.storage.table("t")
            try await scenario.insert("a", into: table)
            try await scenario.storage.commit()
            var client = try await scenario.client()
            #expect(try await client.summary() == "checkpoint 1: 1#g|0[] ×1 p3")
            #expect(try await client.summary() == "data 1#g|0[] 0…1 ×1")
            #expect(try await client.summary() == "complete 1")
            try await scenario.insert("b", into: table)
            try await scenario.storage.commit()
            #expect(try await client.summary() == "diff 2: 1#g|0[] ×2 p3 -[]")
            #expect(try await client.summary() == "data 1#g|0[] 1…2 ×1")
            #expect(try await client.summary() == "complete 2")
            await client.leave()
        }
    }

    @Test(arguments: TestedStorage.durable)
    func aNewBucketIsSentFromItsBeginningAndOneThatIsGoneIsRemoved(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.listsConfig, on: kind) { scenario in
            let lists = try await scenario.storage.table("lists")
            let todos = try await scenario.storage.table("todos")
            for id in ["t1", "t2"] { try await scenario.insert(id, ["list": "l1"], into: todos) }
            try await scenario.storage.commit()
            var client = try await scenario.client()
            #expect(try await client.untilComplete() == ["checkpoint 2: ", "complete 2"])
            try await scenario.insert("l1", ["owner": "u1"], into: lists)
            let second = try await scenario.storage.commit().opID
            let added = try await client.untilComplete()
            #expect(
                added == [
                    #"diff \#(second): 1#todos|0["l1"] ×2 p3 -[]"#, #"data 1#todos|0["l1"] 0…2 ×2"#,
                    "complete \(second)",
                ]
            )
            try await scenario.insert("l1", ["owner": "u2"], into: lists)
            let third = try await scenario.storage.commit().opID
            let removed = try await client.untilComplete()
            #expect(removed == [#"diff \#(third):  -["1#todos|0[\"l1\"]"]"#, "complete \(third)"])
            await client.leave()
        }
    }

    @Test func aSmallDownloadIsCompletedBeforeANewerCheckpointIsAnnounced() async throws {
        let config = Self.listsConfig + "\n  news: {auto_subscribe: true, query: SELECT * FROM news}"
        try await SessionScenario.run(config) { scenario in
            let lists = try await scenario.storage.table("lists")
            let todos = try await scenario.storage.table("todos")
            // Five lines that are too long to be handed over together, with half of the operations after which a
            // download is interrupted.
            let rowCount = SyncSession.StateMachine.uninterruptedOperations / 10
            let text = String(repeating: "x", count: LineBatch.maximumBytes / rowCount / 2)
            for list in ["l1", "l2", "l3", "l4", "l5"] {
                try await scenario.insert(list, ["owner": "u1"], into: lists)
                for number in 0..<rowCount {
                    try await scenario.insert("\(list)-\(number)", ["list": list, "text": text], into: todos)
                }
            }
            let first = try await scenario.storage.commit().opID
            var other = try await scenario.client("u2")
            _ = try await other.untilComplete()
            var client = try await scenario.client("u1")
            #expect(try await client.summary()?.hasPrefix("checkpoint \(first): ") == true)
            #expect(try await client.summary()?.hasPrefix("data") == true)
            // The session waits with the second line while the dispatcher tells both of another checkpoint.
            let news = try await scenario.storage.table("news")
            try await scenario.insert("n1", into: news)
            let second = try await scenario.storage.commit().opID
            _ = try await other.untilComplete()
            let rest = try await client.untilComplete()
            #expect(rest.count == 5)
            #expect(rest.dropLast().allSatisfy { $0.hasPrefix("data") })
            #expect(rest.last == "complete \(first)")
            let next = try await client.untilComplete()
            #expect(next.first == "diff \(second): 1#news|0[] ×1 p3 -[]")
            #expect(next.last == "complete \(second)")
            await client.leave()
            await other.leave()
        }
    }

    @Test func aLineItsDataAndItsCompletionAreHandedOverTogether() async throws {
        try await SessionScenario.run(Self.config) { scenario in
            let table = try await scenario.storage.table("t")
            var client = try await scenario.client()
            #expect(try await client.untilComplete().count == 2)
            #expect(client.batchCount == 1)
            try await scenario.insert("a", into: table)
            try await scenario.storage.commit()
            #expect(try await client.untilComplete().count == 3)
            #expect(client.batchCount == 2)
            // Much more than is written together.
            let text = String(repeating: "x", count: LineBatch.maximumBytes)
            try await scenario.insert("b", ["text": text], into: table)
            try await scenario.storage.commit()
            #expect(try await client.untilComplete().count == 3)
            #expect(client.batchCount == 5)
            await client.leave()
        }
    }

    @Test(arguments: TestedStorage.durable)
    func aSessionEndsWhenAnotherSyncConfigBecomesActive(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            var client = try await scenario.client()
            #expect(try await client.untilComplete().last == "complete 0")

            let other = Self.config + "\n# changed\n"
            let stream = try await scenario.storage.storage.deploy(other, plan: try plan(other))
            var writer = try await scenario.storage.writer(of: stream.id)
            try await writer.setResumePosition(.at(0))
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
            #expect(try await client.next() == nil)
            await client.leave()

            var next = try await scenario.client()
            #expect(try await next.summary() == "checkpoint 0: 2#g|0[] ×0 p3")
            await next.leave()
        }
    }

    @Test func aRowOfAnySizeIsAllThatAClientThatDoesNotReadHasInMemory() async throws {
        try await SessionScenario.run(Self.config) { scenario in
            let table = try await scenario.storage.table("t")
            let text = String(repeating: "x", count: SyncSession.readAheadBytes)
            for id in ["a", "b", "c"] { try await scenario.insert(id, ["text": text], into: table) }
            try await scenario.storage.commit()
            let lines = LineQueue()
            var session = try await scenario.session()
            _ = try await session.open()
            let running = Task { [session] in
                var session = session
                try await session.run(lines)
            }
            #expect(try await lines.next()?.count == 1)
            // The first row is with the writer, who does not come back. In the time that another client needs for everything, the
            // session could have read the next one.
            var other = try await scenario.client("u2")
            _ = try await other.untilComplete()
            await other.leave()
            #expect(lines.waitingBytes == 0)
            #expect(try await lines.next()?.count == 1)
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }
}

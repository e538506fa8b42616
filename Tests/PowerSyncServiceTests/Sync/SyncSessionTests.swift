import NIOCore
import PowerSyncProtocol
import PowerSyncRules
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sessions over the real storage, without HTTP.
@Suite(.timeLimit(.minutes(1))) struct SyncSessionTests {
    private static let config = """
        config: {edition: 3}
        streams:
          g: {auto_subscribe: true, query: SELECT * FROM t}
        """

    @Test("a row, and another one")
    func rows() async throws {
        try await SessionScenario.run(Self.config) { scenario in
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

    @Test("a line, its data and its completion are handed over together")
    func oneBatch() async throws {
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

    @Test("a session ends when another sync config becomes active")
    func redeployment() async throws {
        try await SessionScenario.run(Self.config) { scenario in
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

    @Test("a row of any size is all that a client that does not read has in memory")
    func readAhead() async throws {
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

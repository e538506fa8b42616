import Logging
import NIOCore
import PowerSyncProtocol
import PowerSyncRules
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

    private static func session(_ storage: SQLiteBucketStorage) async throws -> SyncSession {
        SyncSession(
            request: StreamingSyncRequest(),
            token: VerifiedToken(payload: ["sub": "u1"], expiresAt: 0),
            stream: try #require(try await storage.activeStream()),
            environment: SyncSession.Environment(
                storage: storage,
                dataReaders: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1),
                limits: BucketLimits(),
                timing: Timing()
            ),
            encoding: SyncSession.Encoding(format: .ndjson, isRawData: true),
            statistics: StreamStatistics(),
            logger: ServiceScenario.logger
        )
    }

    private static func summary(_ line: ByteBuffer?) throws -> String? {
        try line.map { try JSONObject(parsing: $0).summary }
    }

    @Test("a row, and another one")
    func rows() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("t")
        func row(_ id: String) -> SourceChange {
            .insert(SourceRow(columns: [.init(name: "id", value: .text(id))]))
        }
        try await scenario.save(row("a"), of: table)
        try await scenario.commit()

        var session = try await Self.session(scenario.storage)
        #expect(try Self.summary(try await session.open()) == "checkpoint 1: 1#g|0[] ×1 p3")
        let lines = LineQueue()
        let running = Task { [session] in
            var session = session
            try await session.run(lines)
        }
        #expect(try Self.summary(try await lines.next()) == "data 1#g|0[] 0…1 ×1")
        #expect(try Self.summary(try await lines.next()) == "complete 1")
        try await scenario.save(row("b"), of: table)
        try await scenario.commit()
        #expect(try Self.summary(try await lines.next()) == "diff 2: 1#g|0[] ×2 p3 -[]")
        #expect(try Self.summary(try await lines.next()) == "data 1#g|0[] 1…2 ×1")
        #expect(try Self.summary(try await lines.next()) == "complete 2")
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test("a session ends when another sync config becomes active")
    func redeployment() async throws {
        let scenario = try await StorageScenario(Self.config)
        var session = try await Self.session(scenario.storage)
        _ = try await session.open()
        let lines = LineQueue()
        let running = Task { [session] in
            var session = session
            try await session.run(lines)
        }
        #expect(try Self.summary(try await lines.next()) == "complete 0")

        let other = Self.config + "\n# changed\n"
        let stream = try await scenario.storage.deploy(other, plan: try plan(other))
        var writer = try await scenario.storage.writer(of: stream.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        try await running.value

        var next = try await Self.session(scenario.storage)
        #expect(try Self.summary(try await next.open()) == "checkpoint 0: 2#g|0[] ×0 p3")
    }
}

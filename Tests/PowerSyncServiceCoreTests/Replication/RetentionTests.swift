import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sources that throw away what a stream needs.
@Suite(.timeLimit(.minutes(1))) struct RetentionTests {
    private let folder: TemporaryFolder
    private let storage: SQLiteBucketStorage
    private let source = ModelSource()
    private let clock = TestClock()
    private let log = CollectedLog()

    private static let config = """
        config: {edition: 3}
        streams:
          all:
            query: SELECT * FROM items
        """
    private static let error = ReplicationSourceError(.retentionExceeded, "The source keeps too little.")

    init() throws {
        folder = try TemporaryFolder()
        storage = try SQLiteBucketStorage(path: folder.path("buckets.db"))
        source.alter(.create("items", columns: ["id", "name"]))
        // Three chunks, so that the second attempt goes on, and fails, too.
        source.write((0..<7).map { .insert("items", id: "r\($0)", ["name": .text("one")]) })
    }

    private func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
        _ = try await storage.deploy(Self.config, plan: plan(Self.config))
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            clock: clock,
            logger: log.logger
        )
        try await replicator.whileRunning(body)
    }

    /// Waits for a checkpoint of a stream other than some.
    private func published(notBy others: [ReplicationStreamID] = []) async throws -> ReplicationStreamID {
        while true {
            let seen = storage.feed.signal.version
            if let current = storage.feed.current, !others.contains(current.streamID) { return current.streamID }
            try await storage.feed.signal.wait(after: seen)
        }
    }

    @Test func aFirstCopyThatWasInVainIsTriedAgainAfterAMinuteAndNotAsAnotherStream() async throws {
        source.retentionErrors.withLockedValue { $0 = [Self.error, Self.error] }
        try await replicating {
            for _ in 0..<2 {
                // In parts, so that the service is seen to be alive.
                for _ in 0..<12 {
                    try await clock.waitForTimer(of: .seconds(5))
                    clock.advance(by: .seconds(5))
                }
            }
            _ = try await published()
        }
        #expect(try await storage.streams().count == 1)
        let failures = log.lines.filter { $0.contains("The source keeps too little.") }
        #expect(failures.count == 2)
        for (index, line) in failures.enumerated() {
            #expect(line.hasPrefix("error Replication failed, and is tried again attempt=\(index + 1) "), "\(line)")
            #expect(line.hasSuffix(" pause_ms=60000.0 replication_stream=1"), "\(line)")
        }
    }

    @Test func attemptsBeginWithAShortPauseAgainAfterAStreamWasReplicatedForAnHour() async throws {
        let error = ReplicationSourceError(.unavailable, "The source does not answer.")
        source.retentionErrors.withLockedValue { $0 = [error, error, error] }
        try await replicating {
            for pause in [500, 1000, 2000] {
                try await clock.waitForTimer(of: .milliseconds(pause))
                clock.advance(by: .milliseconds(pause))
            }
            let first = try await published()
            clock.advance(by: .seconds(3600))
            source.retentionErrors.withLockedValue { $0 = [error] }
            // The table is copied again.
            source.alter(.addColumn("note", to: "items"))
            try await clock.waitForTimer(of: .milliseconds(500))
            clock.advance(by: .milliseconds(500))
            #expect(try await storage.streams().map(\.id) == [first])
        }
        let pauses = log.lines.filter { $0.contains("The source does not answer.") }.compactMap { line in
            line.firstMatch(of: /attempt=(\d+) .*pause_ms=([\d.]+)/).map { "\($0.1): \($0.2)" }
        }
        #expect(pauses == ["1: 500.0", "2: 1000.0", "3: 2000.0", "1: 500.0"])
    }

    @Test func aStreamThatClientsAreServedFromIsReplacedByAnotherOne() async throws {
        try await replicating {
            let first = try await published()
            source.retentionErrors.withLockedValue { $0 = [Self.error] }
            // The table is copied again.
            source.alter(.addColumn("note", to: "items"))
            _ = try await published(notBy: [first])
        }
        #expect(log.lines.contains { $0.contains("replication starts again") })
    }
}

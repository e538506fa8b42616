import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What a power failure may take back is neither acknowledged nor published.
@Suite(.timeLimit(.minutes(1))) struct DurabilityTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    @Test func durablePositionIsTheLastCheckpointAfterACommitThatWaitedForTheDisk() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("test")
        let commits = SyncedCommits()
        scenario.storage.pool.add(transactionObserver: commits)
        try await scenario.save(.insert(["id": "a"]), of: table)
        let checkpoint = try await scenario.commit()
        try await scenario.save(.insert(["id": "b"]), of: table)
        try await scenario.writer.flush()
        #expect(commits.synced == [true, false], "only what is published waits")

        let durable = try #require(try await scenario.writer.makeDurable())
        #expect(durable.position == SourcePosition(checkpoint.lsn, of: SourceHistory(rawValue: "first")))
        #expect(commits.synced.last == true)
        try await scenario.writer.flush()
        try await scenario.save(.insert(["id": "c"]), of: table)
        try await scenario.writer.flush()
        #expect(commits.synced.last == false)
    }

    @Test func aCheckpointIsOnTheDiskWhenItIsPublished() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("test")
        let commits = SyncedCommits()
        scenario.storage.pool.add(transactionObserver: commits)
        for key in ["a", "b"] {
            try await scenario.save(.insert(["id": .text(key)]), of: table)
            try await scenario.writer.flush()
            #expect(commits.synced.last == false)
            try await scenario.commit()
            #expect(commits.synced.last == true)
        }
        #expect(commits.synced == [false, true, false, true])
    }

    @Test func aWriteCheckpointIsOnTheDiskWhenItIsAnswered() async throws {
        let scenario = try await StorageScenario(Self.config)
        let commits = SyncedCommits()
        let storage = scenario.storage
        storage.pool.add(transactionObserver: commits)
        #expect(try await storage.createWriteCheckpoint(userKey: "u", head: .at(1)).rawValue == 1)
        #expect(commits.synced == [false, true])
        let request = WriteCheckpoint(7)
        #expect(try await storage.recordCheckpointRequest(request, userKey: "u", head: .at(2)) == request)
        #expect(commits.synced == [false, true, false, true])
        // Those that come at the same time wait together.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in 0..<50 {
                group.addTask { _ = try await storage.createWriteCheckpoint(userKey: "\(user)", head: .at(3)) }
            }
            try await group.waitForAll()
        }
        let synced = commits.synced.dropFirst(4)
        #expect(synced.last == true)
        #expect(synced.count { !$0 } == 50)
    }

    @Test func beforeTheFirstCheckpointNothingIsDurable() async throws {
        var scenario = try await StorageScenario(Self.config, isActive: false)
        #expect(try await scenario.writer.makeDurable() == nil)
    }

    @Test func replicatorAcknowledgesAfterTheDiskHasConfirmed() async throws {
        let scenario = try SourceScenario()
        let source = RecordingSource(
            scenario.source,
            storage: scenario.storage,
            recording: "SELECT synced FROM op_sequence"
        )
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: scenario.logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await replicator.run() }
            try await source.acknowledgements.wait(after: 0)
            group.cancelAll()
        }
        #expect(source.events.first { $0.hasPrefix("acknowledgement") } == "acknowledgement, stored: 1")
    }
}

/// Records of each commit whether it waited for the disk.
private final class SyncedCommits: TransactionObserver, Sendable {
    private let commits = NIOLockedValueBox<[Bool]>([])

    var synced: [Bool] { commits.withLockedValue { $0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
        let level = try? Int.fetchOne(db, sql: "PRAGMA synchronous")
        commits.withLockedValue { $0.append(level == 2) }
    }

    func databaseDidRollback(_ db: Database) {}
}

import GRDB
import PowerSyncRules
import Synchronization
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What a power failure may take back is not acknowledged.
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
        #expect(commits.synced == [false, false], "commits alone do not wait")

        let durable = try #require(try await scenario.writer.makeDurable())
        #expect(durable.position == SourcePosition(checkpoint.lsn, of: SourceHistory(rawValue: "first")))
        #expect(commits.synced.last == true)
        try await scenario.commit()
        #expect(commits.synced.last == false)
    }

    @Test func beforeTheFirstCheckpointNothingIsDurable() async throws {
        var scenario = try await StorageScenario(Self.config, isActive: false)
        #expect(try await scenario.writer.makeDurable() == nil)
    }

    @Test func replicatorAcknowledgesAfterTheDiskHasConfirmed() async throws {
        let scenario = try SourceScenario()
        let source = AcknowledgedSource(scenario.source, storage: scenario.storage)
        let replicator = Replicator(
            storage: scenario.storage,
            source: source,
            content: scenario.config,
            plan: try plan(scenario.config),
            logger: scenario.logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await replicator.run() }
            try await source.acknowledgements.wait(after: 0)
            group.cancelAll()
        }
        #expect(source.syncedBefore.withLock { $0 }.first == 1)
    }
}

/// Records of each commit whether it waited for the disk.
private final class SyncedCommits: TransactionObserver, Sendable {
    private let commits = Mutex<[Bool]>([])

    var synced: [Bool] { commits.withLock { $0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
        let level = try? Int.fetchOne(db, sql: "PRAGMA synchronous")
        commits.withLock { $0.append(level == 2) }
    }

    func databaseDidRollback(_ db: Database) {}
}

/// A source that records how often the storage had waited for its disk before each acknowledgement.
private final class AcknowledgedSource: ReplicationSource {
    private let source: EmbeddedSource
    private let storage: SQLiteBucketStorage
    let acknowledgements = ChangeSignal()
    let syncedBefore = Mutex<[Int]>([])

    init(_ source: EmbeddedSource, storage: SQLiteBucketStorage) {
        self.source = source
        self.storage = storage
    }

    func acknowledge(_ position: DurablePosition, of slotName: String) async throws {
        let synced = try await storage.pool.read { db in try Int.fetchOne(db, sql: "SELECT synced FROM op_sequence") }
        syncedBefore.withLock { $0.append(synced ?? 0) }
        try await source.acknowledge(position, of: slotName)
        acknowledgements.advance()
    }

    func wantsAcknowledgement(of lsn: LSN, by slotName: String) -> Bool {
        source.wantsAcknowledgement(of: lsn, by: slotName)
    }

    func checkConfiguration() async throws { try await source.checkConfiguration() }

    func head() async throws -> SourcePosition { try await source.head() }

    func emitMarker() async throws { try await source.emitMarker() }

    func prepareStream(
        _ slotName: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await source.prepareStream(slotName, resumingAfter: position, reached: reached)
    }

    func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] { try await source.tables(for: plan) }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        try await source.snapshot(of: table, after: key)
    }

    func withChanges<Result>(
        of slotName: String,
        after position: SourcePosition,
        tables: [SourceTableDescriptor],
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        try await source.withChanges(of: slotName, after: position, tables: tables, body)
    }

    func dropStream(_ slotName: String) async throws { try await source.dropStream(slotName) }

    func close() throws { try source.close() }
}

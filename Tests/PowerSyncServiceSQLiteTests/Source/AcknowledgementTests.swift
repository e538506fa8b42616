import Foundation
import GRDB
import Logging
import NIOConcurrencyHelpers
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What the log of the embedded source keeps.
@Suite(.timeLimit(.minutes(1))) struct AcknowledgementTests {
    @Test func acknowledgedEntriesAreDeletedWhenNoStreamNeedsThem() async throws {
        let scenario = try SourceScenario()
        _ = try await scenario.source.prepareStream("a", resumingAfter: nil, reached: nil)
        _ = try await scenario.source.prepareStream("b", resumingAfter: nil, reached: nil)
        try await insert(2500, scenario)
        let head = try await scenario.source.head()
        let durable = DurablePosition(confirmedByDisk: head)
        try await scenario.source.acknowledge(durable, of: "a")
        #expect(try await entries(scenario) == 2501, "what the other stream has yet to read, and its position")
        try await scenario.source.acknowledge(durable, of: "b")
        #expect(try await entries(scenario) == 1, "positions are compared with the last entry")
        #expect(try await scenario.source.head() == head)
        try await scenario.source.emitMarker()
        #expect(try await scenario.source.head().lsn > head.lsn)
    }

    @Test func acknowledgementDeletesFewEntriesInATransaction() async throws {
        let scenario = try SourceScenario()
        _ = try await scenario.source.prepareStream("a", resumingAfter: nil, reached: nil)
        try await insert(7000, scenario)
        let deletions = DeletionCounter()
        scenario.source.pool.add(transactionObserver: deletions)
        try await scenario.source.acknowledge(
            DurablePosition(confirmedByDisk: try await scenario.source.head()),
            of: "a"
        )
        #expect(try await entries(scenario) == 1)
        #expect(deletions.perTransaction.allSatisfy { $0 <= 2000 }, "\(deletions.perTransaction)")
        #expect(deletions.perTransaction.reduce(0, +) == 7000)
    }

    @Test func streamThatIsNotHeardOfIsForgotten() async throws {
        let time = NIOLockedValueBox(Date(timeIntervalSince1970: 1_000_000))
        let folder = try TemporaryFolder()
        let source = try EmbeddedSource(
            path: folder.path("source.db"),
            schema: [SourceScenario.lists],
            now: { time.withLockedValue { $0 } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let abandoned = try await source.prepareStream("abandoned", resumingAfter: nil, reached: nil)
        _ = try await source.prepareStream("alive", resumingAfter: nil, reached: nil)
        for _ in 0..<10 { try await source.emitMarker() }
        let head = try await source.head()
        try await source.acknowledge(DurablePosition(confirmedByDisk: head), of: "alive")
        #expect(!source.wantsAcknowledgement(of: head.lsn, by: "alive"))
        time.withLockedValue { $0 -= 3600 }
        #expect(source.wantsAcknowledgement(of: head.lsn, by: "alive"), "the clock was set back")
        time.withLockedValue { $0 += 3600 }

        time.withLockedValue { $0 += 4 * 24 * 3600 }
        #expect(source.wantsAcknowledgement(of: head.lsn, by: "alive"), "to be heard of")
        try await source.acknowledge(DurablePosition(confirmedByDisk: head), of: "alive")
        let left = try await source.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_log") }
        #expect(left == 1)
        await #expect { try await source.prepareStream("abandoned", resumingAfter: abandoned, reached: nil) } throws: {
            ($0 as? ReplicationSourceError)?.code == .historyLost
        }
        try source.close()
    }

    @Test func positionOlderThanTheLogProvesNothing() async throws {
        let scenario = try SourceScenario()
        let source = scenario.source
        _ = try await source.prepareStream("a", resumingAfter: nil, reached: nil)
        // What a caller has read that waits for a connection while all of the rest happens.
        let old = source.known.withLockedValue { $0 }
        try await insert(2, scenario)
        let head = try await source.head()
        try await source.acknowledge(DurablePosition(confirmedByDisk: head), of: "a")
        #expect(try await entries(scenario) == 1)
        let known = try #require(old)
        let isKept = try await source.pool.read { db in try known.position.isContained(in: db) }
        #expect(!isKept)
        source.known.withLockedValue { $0 = known }
        #expect(try await source.head() == head)
    }

    @Test(arguments: [0, 1] as [Int64])
    func positionThatIsNotOlderThanTheLogIsChecked(distance: Int64) async throws {
        let scenario = try SourceScenario()
        let source = scenario.source
        _ = try await source.prepareStream("a", resumingAfter: nil, reached: nil)
        try await insert(2, scenario)
        let head = try await source.head()
        try await source.acknowledge(DurablePosition(confirmedByDisk: head), of: "a")
        let kept = try #require(EmbeddedPosition(head.lsn))
        let lost = EmbeddedPosition(sequence: kept.sequence + distance, token: ~kept.token)
        source.known.withLockedValue { $0 = EmbeddedSource.KnownPosition(position: lost, history: head.history) }
        #expect(try await source.head().history != head.history)
    }

    private func insert(_ count: Int, _ scenario: SourceScenario) async throws {
        try await scenario.foreignConnection().write { db in
            for index in 0..<count { try db.execute(sql: "INSERT INTO lists (id) VALUES (?)", arguments: [index]) }
        }
    }

    private func entries(_ scenario: SourceScenario) async throws -> Int? {
        try await scenario.source.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_log") }
    }
}

/// Counts the rows that each transaction deletes from the log.
private final class DeletionCounter: TransactionObserver, Sendable {
    private struct State {
        var current = 0
        var transactions: [Int] = []
    }

    private let state = NIOLockedValueBox(State())

    var perTransaction: [Int] { state.withLockedValue { $0.transactions } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        if case .delete(tableName: "_ps_log") = eventKind { true } else { false }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLockedValue { $0.current += 1 }
    }

    func databaseDidCommit(_ db: Database) {
        state.withLockedValue { state in
            if state.current > 0 { state.transactions.append(state.current) }
            state.current = 0
        }
    }

    func databaseDidRollback(_ db: Database) {
        state.withLockedValue { $0.current = 0 }
    }
}

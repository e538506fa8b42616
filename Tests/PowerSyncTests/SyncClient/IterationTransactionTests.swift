import GRDB
import NIOConcurrencyHelpers
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// The transactions in which a stream's lines are handled.
@Suite(.timeLimit(.minutes(1))) struct IterationTransactionTests {
    /// Moves on by 10 ms whenever somebody looks; nobody's time comes.
    private final class TickingClock: Clock {
        private let time = NIOLockedValueBox(TestClock.Instant(offset: .zero))

        var now: TestClock.Instant {
            time.withLockedValue { time in
                time = time.advanced(by: .milliseconds(10))
                return time
            }
        }

        var minimumResolution: Swift.Duration { .nanoseconds(1) }

        func sleep(until deadline: TestClock.Instant, tolerance: Swift.Duration?) async throws {
            try await TaskGate().pass()
        }
    }

    /// How many operations the file has after each commit.
    ///
    /// A status would not do: states that follow each other are one.
    private final class OperationCounts: TransactionObserver, Sendable {
        private let counts = NIOLockedValueBox<[Int]>([])

        var all: [Int] { counts.withLockedValue { $0 } }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidRollback(_ db: Database) {}
        func databaseDidCommit(_ db: Database) {
            guard let count = try? Int.fetchOne(db, sql: "SELECT count(*) FROM ps_oplog") else { return }
            counts.withLockedValue { $0.append(count) }
        }
    }

    @Test func linesThatTakeLongAreCommittedInParts() async throws {
        let service = ScriptedTransport()
        let database = service.makeDatabase(schema: SyncHarness.schema, clock: TickingClock())
        try await database.connect(connector: ScriptedConnector(), options: nil)
        let stream = try await service.nextStream()
        stream.accept()
        try await database.waitForStatus { $0.connected }
        let counts = OperationCounts()
        try await database.writeLock { context in
            try LocalConnection.database(of: context).add(transactionObserver: counts, extent: .databaseLifetime)
        }
        let data: [SyncLine] = (Int64(1)...30).map { .put("a", $0...$0) }
        let lines: [SyncLine] = [.checkpoint(30, [.bucket("a", count: 30)])] + data + [.done]
        stream.send(lines)
        try await database.waitForStatus { $0.hasSynced == true }
        #expect(counts.all.contains { (1..<30).contains($0) }, "\(counts.all)")
        #expect(try await database.count("lists") == 30)
        try await database.close()
    }

    @Test(arguments: [3, 4])
    func whileAnotherConnectionHoldsALockATransactionIsTriedFourTimes(failures: Int) async throws {
        let harness = SyncHarness()
        let missing = Shared(failures)
        try await harness.database.writeLock { context in
            try LocalConnection.database(of: context).add(
                function: DatabaseFunction("fail_while_busy", argumentCount: 0) { _ in
                    guard missing.value > 0 else { return nil }
                    missing.value -= 1
                    throw DatabaseError(resultCode: .SQLITE_BUSY)
                }
            )
        }
        try await harness.database.execute(
            "CREATE TRIGGER busy AFTER INSERT ON ps_data__lists BEGIN SELECT fail_while_busy(); END"
        )
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        if failures < 4 {
            try await harness.wait { $0.hasSynced == true }
            #expect(try await harness.lists() == ["a1": "remote"])
            #expect(harness.log.messages(.error).isEmpty)
        } else {
            try await harness.wait { $0.lastDownloadError != nil && !$0.connected }
        }
        #expect(missing.value == 0)
    }
}

import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// What is atomic, what survives a rollback, and what does not depend on how lines are grouped
/// (docs/client-sync.md "Batches and crashes").
@Suite struct TransactionTests {
    /// A history with everything in it.
    static let history: [SyncLine] = [
        .checkpoint(6, [.bucket("a", checksum: 6, count: 3, priority: 1), .bucket("b", checksum: 15, count: 3)]),
        .ops("a", .put(1, "1", 1), .put(2, "2", 2)),
        .ops("b", .put(3, "3", 4), .put(4, "2", 5, data: #"{"v":2}"#)),
        .ops("a", .put(5, "1", 3, data: #"{"v":5}"#)),
        .done(1),
        .ops("b", .put(6, "4", 6, type: "other")),
        .done,
        .diff(
            10,
            [.bucket("a", checksum: 10, count: 2, priority: 1), .bucket("c", checksum: 9, count: 1)],
            removed: ["b"],
            writeCheckpoint: 4
        ),
        .ops("a", .clear(8, 8), .put(9, "1", 2, data: #"{"v":9}"#)),
        .done(1),
        .ops("c", .put(10, "2", 9, data: nil), .move(10)),
        .done,
        .diff(12, [.bucket("a", checksum: 13, count: 3, priority: 1)]),
        .ops("a", .remove(12, "1", 3)),
    ]

    private func scenario(_ lines: [SyncLine], _ delivery: Delivery) throws -> SyncScenario {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.send(lines.map { .line($0) })
        return scenario
    }

    @Test(arguments: 0...history.count)
    func batchingAndEncodingDoNotChangeAnyTable(_ length: Int) throws {
        let lines = Array(Self.history.prefix(length))
        let one = try scenario(lines, .oneByOne)
        for delivery in Delivery.allCases.dropFirst() {
            let other = try scenario(lines, delivery)
            #expect(try one.snapshot == other.snapshot)
            #expect(one.status == other.status)
        }
    }

    @Test(arguments: 1...history.count)
    func transactionThatIsRolledBackAfterAnyLineCanBeRepeated(_ length: Int) throws {
        let scenario = try scenario([], .batched)
        let reference = try self.scenario(Self.history, .batched)
        let events = Self.history.map { SyncEvent.line($0) }
        struct Crash: Error {}
        #expect(throws: Crash.self) {
            try scenario.write { db in
                var next = scenario.engine
                _ = try next.handle(events.prefix(length), in: db, now: scenario.now)
                throw Crash()
            }
        }
        #expect(try scenario.bucketNames.isEmpty)
        try scenario.send(events)
        #expect(try scenario.snapshot == reference.snapshot)
        #expect(scenario.status == reference.status)
    }

    @Test(arguments: 1..<history.count)
    func processThatEndsAfterAnyLineContinuesFromThere(_ length: Int) throws {
        let scenario = try scenario(Array(Self.history.prefix(length)), .oneByOne)
        let reference = try self.scenario(Self.history, .oneByOne)
        // A new process: the service describes its newest checkpoint, and sends what comes after our positions.
        scenario.restart()
        let request = try scenario.start()
        let positions = Dictionary(uniqueKeysWithValues: request.buckets.map { ($0.name, $0.after) })
        let buckets: [BucketDescription] = [
            .bucket("a", checksum: 13, count: 3, priority: 1), .bucket("c", checksum: 9, count: 1),
        ]
        let missing = [
            DataLine.line("a", [.clear(8, 8), .put(9, "1", 2, data: #"{"v":9}"#), .remove(12, "1", 3)]),
            DataLine.line("c", [.put(10, "2", 9, data: nil), .move(10)]),
        ].map { line in
            var line = line
            line.operations.removeAll { $0.opID <= positions[line.bucket] ?? .zero }
            return line
        }
        try scenario.receive(.checkpoint(12, buckets, writeCheckpoint: 4))
        try scenario.send(missing.filter { !$0.operations.isEmpty }.map { .line(.data($0)) } + [.line(.done)])
        try reference.receive(.done)
        #expect(try scenario.snapshot["ps_data__items"] == reference.snapshot["ps_data__items"])
        #expect(try scenario.snapshot["ps_untyped"] == reference.snapshot["ps_untyped"])
        #expect(try scenario.snapshot["ps_oplog"] == reference.snapshot["ps_oplog"])
        #expect(scenario.status.hasSynced == true)
    }

    @Test
    func eventsBeyondTheTimeLimitAreLeftToTheNextTransaction() throws {
        let scenario = try scenario([], .batched)
        let events = Self.history.map { SyncEvent.line($0) }
        var checks = 0
        let step = try scenario.write { db in
            var next = scenario.engine
            return try next.handle(
                events,
                in: db,
                now: scenario.now,
                isOutOfTime: {
                    checks += 1
                    return checks == 3
                }
            )
        }
        #expect(step.handledEvents == 3)
    }

    @Test
    func atLeastOneEventIsHandledHoweverLateItIs() throws {
        let scenario = try scenario([], .batched)
        let step = try scenario.write { db in
            var next = scenario.engine
            return try next.handle([.line(Self.history[0])], in: db, now: scenario.now, isOutOfTime: { true })
        }
        #expect(step.handledEvents == 1)
    }

    @Test
    func lockOfAnotherConnectionIsAnErrorThatCanBeRetried() throws {
        let folder = try TemporaryFolder()
        var configuration = Configuration().forPowerSync()
        configuration.busyMode = .immediateError
        let queue = try DatabaseQueue(path: folder.path("busy.db"), configuration: configuration)
        try queue.write { try SystemTables.migrate($0) }
        var engine = SyncEngine()
        try queue.write { db in
            _ = try engine.handle(
                [.start(SyncStart()), .line(.checkpoint(1, [.bucket("a", count: 1)]))],
                in: db,
                now: .init(microseconds: 1)
            )
        }

        let other = try DatabaseQueue(path: folder.path("busy.db"), configuration: configuration)
        let line = SyncEvent.line(.ops("a", .put(1, "x")))
        func handle() throws -> SyncEngine {
            var next = engine
            // Deferred, so that the engine meets the lock and not BEGIN.
            try queue.inTransaction(.deferred) { db in
                _ = try next.handle([line], in: db, now: .init(microseconds: 2))
                return .commit
            }
            return next
        }
        try other.inTransaction(.immediate) { _ in
            let error = #expect(throws: SyncEngineError.self) { try handle() }
            #expect(error?.isRetriable == true)
            #expect(error.map { SyncEngineError.isRetriable($0) } == true)
            return .rollback
        }
        engine = try handle()
        #expect(engine.status.progress?.overall == OperationCounts(total: 1, downloaded: 1))
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count_since_last FROM ps_buckets") } == 1)
    }

    @Test(
        arguments: [(5, true), (517, true), (6, true), (262, true), (13, false), (9, false)] as [(Int32, Bool)]
    )
    func locksOfEveryKindCanBeWaitedForAndNothingElse(code: Int32, isRetriable: Bool) {
        let cause = DatabaseError(resultCode: ResultCode(rawValue: code))
        #expect(SyncEngineError(wrapping: cause).isRetriable == isRetriable)
        #expect(SyncEngineError.isRetriable(cause) == isRetriable)
    }

    @Test
    func whatAnotherProcessDoesToPsBucketsIsNoticed() throws {
        let folder = try TemporaryFolder()
        let configuration = Configuration().forPowerSync()
        let queue = try DatabaseQueue(path: folder.path("shared.db"), configuration: configuration)
        try queue.write { try SystemTables.migrate($0) }
        var engine = SyncEngine()
        func send(_ events: SyncEvent...) throws {
            try queue.write { db in
                _ = try engine.handle(events, in: db, now: .init(microseconds: 1))
            }
        }
        try send(
            .start(SyncStart()),
            .line(.checkpoint(2, [.bucket("a", checksum: 5)])),
            .line(.ops("a", .put(1, "x", 2)))
        )
        let other = try DatabaseQueue(path: folder.path("shared.db"), configuration: configuration)
        try other.write { db in
            try db.execute(sql: "UPDATE ps_buckets SET add_checksum = 3")
        }
        try send(.line(.done))
        #expect(engine.status.hasSynced == true)
    }
}

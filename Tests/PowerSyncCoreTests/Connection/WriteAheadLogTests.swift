import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

@Suite struct WriteAheadLogTests {
    private let folder: TemporaryFolder
    private let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(path: folder.path("test.db"), configuration: Configuration().forPowerSync())
        try pool.writeWithoutTransaction { db in
            try ConnectionState.of(db).writeAheadLog = WriteAheadLog(limit: Self.limit)
            try db.execute(sql: "CREATE TABLE blobs(id INTEGER PRIMARY KEY, data BLOB)")
        }
    }

    /// Beyond SQLite's interval and `journal_size_limit`, which would do without us.
    private static let limit: CInt = 2_000
    private static let pageSize = 4_096

    /// The size of the log, in pages.
    private var logSize: Int {
        get throws { try logSize("test.db") }
    }

    private func logSize(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name + "-wal"))
        return try #require(attributes[.size] as? NSNumber).intValue / Self.pageSize
    }

    private func write(pages: Int) throws {
        try pool.write { db in
            try db.execute(sql: "INSERT INTO blobs(data) VALUES (zeroblob(?))", arguments: [pages * Self.pageSize])
        }
    }

    @Test func aLargeTransactionLeavesNoLargeLog() throws {
        try write(pages: 1_500)
        #expect(try logSize >= 1_500)
        try write(pages: 3_000)
        #expect(try logSize == 0)
    }

    /// Lets the pages of a transaction go to the log before it ends, where a test can see them.
    private func showTransactions() throws {
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA cache_size = 10") }
    }

    @Test func theLogHoldsItsLimitAndOneLargeTransactionAtMost() throws {
        try showTransactions()
        // Just below the limit, so that the next one is added to it.
        try write(pages: 1_900)
        var largest: [Int] = []
        for _ in 0..<3 {
            try pool.write { db in
                for _ in 0..<30 {
                    try db.execute(
                        sql: "INSERT INTO blobs(data) VALUES (zeroblob(?))",
                        arguments: [100 * Self.pageSize]
                    )
                }
                largest.append(try logSize)
            }
        }
        #expect(largest.allSatisfy { $0 > 2_900 }, "\(largest) does not show a whole transaction")
        #expect(largest.allSatisfy { $0 < Int(Self.limit) + 3_300 }, "\(largest)")
        // Two of them are never there at once, even without what was there before.
        #expect(largest.dropFirst().allSatisfy { $0 < 2 * 2_900 }, "\(largest)")
        #expect(try logSize == 0)
    }

    @Test func aBulkLoadItsIndexesAndThePublishedRowsAreInTheLogOneByOne() throws {
        let limit = 15
        let all = try logDuringFirstSync("all.db", limit: .max)
        let sizes = all.map { $0.after - $0.before }
        // Three indexes and publishing are each larger than the limit.
        #expect(sizes.suffix(4).allSatisfy { $0 > limit }, "\(sizes)")
        // So none of them begins with another one in the log.
        let bounded = try logDuringFirstSync("bounded.db", limit: CInt(limit))
        #expect(bounded.count == all.count)
        #expect(bounded.allSatisfy { $0.before <= limit && $0.after <= limit }, "\(bounded)")
    }

    /// Syncs for the first time, as a bulk load.
    ///
    /// - Returns: The size of the log before and after each transaction.
    private func logDuringFirstSync(_ name: String, limit: CInt) throws -> [(before: Int, after: Int)] {
        let pool = try DatabasePool(path: folder.path(name), configuration: Configuration().forPowerSync())
        try pool.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
        try pool.writeWithoutTransaction { try ConnectionState.of($0).writeAheadLog = WriteAheadLog(limit: limit) }
        var engine = SyncEngine(bulkLoadThreshold: 1)
        let count: Int64 = 6_000
        var events: [SyncEvent] = [
            .start(SyncStart()), .streamOpened, .line(.checkpoint(count, [.bucket("a", count: count)])),
        ]
        for first in stride(from: Int64(1), through: count, by: 500) {
            events.append(.line(.data(.line("a", (first..<(first + 500)).map { .put($0, "row \($0)") }))))
        }
        events.append(.line(.done))
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        var sizes: [(before: Int, after: Int)] = []
        while !events.isEmpty {
            let before = try logSize(name)
            var next = engine
            let step = try pool.write { db in
                try next.handle(CollectionOfOne(events[0]), in: db, now: SyncInstant(microseconds: 1))
            }
            engine = next
            events.removeFirst(step.handledEvents)
            sizes.append((before, try logSize(name)))
        }
        #expect(try pool.read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM items") } == count)
        try pool.close()
        return sizes
    }

    // MARK: Postponed copies

    /// Writes as the sync engine does.
    ///
    /// - Returns: Whether there is something to copy.
    @discardableResult
    private func writePostponed(pages: Int) throws -> Bool {
        let isDue = NIOLockedValueBox(false)
        try pool.write { db in
            try WriteAheadLog.postponeCopy(db) { isDue.withLockedValue { $0 = true } }
            try db.execute(sql: "INSERT INTO blobs(data) VALUES (zeroblob(?))", arguments: [pages * Self.pageSize])
        }
        return isDue.withLockedValue { $0 }
    }

    @Test func aPostponedCopyIsMadeWhenItIsAskedForAndByNobodyBefore() throws {
        #expect(try writePostponed(pages: 3_000))
        #expect(try logSize >= 3_000)
        // Who has waited meanwhile.
        try write(pages: 1)
        #expect(try logSize >= 3_000)
        pool.writeWithoutTransaction { WriteAheadLog.copy($0) }
        #expect(try logSize == 0)
        // Once.
        try write(pages: 3_000)
        #expect(try logSize == 0)
        pool.writeWithoutTransaction { WriteAheadLog.copy($0) }
    }

    @Test func thereIsNothingToCopyAfterASmallTransaction() throws {
        #expect(try !writePostponed(pages: 1))
        try write(pages: 3_000)
        #expect(try logSize == 0)
    }

    @Test func aTransactionThatFailsPostponesNothing() throws {
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try pool.write { db in
                try WriteAheadLog.postponeCopy(db) { Issue.record("nothing was written") }
                throw Failure()
            }
        }
        try write(pages: 3_000)
        #expect(try logSize == 0)
    }

    @Test func aSecondPostponedTransactionLeavesTheLogToTheFirst() throws {
        #expect(try writePostponed(pages: 3_000))
        #expect(try !writePostponed(pages: 3_000))
        #expect(try logSize >= 6_000)
        pool.writeWithoutTransaction { WriteAheadLog.copy($0) }
        #expect(try logSize == 0)
    }

    @Test func aReaderDelaysTheEndOfTheLogAndNothingElse() throws {
        let reader = try pool.makeSnapshot()
        let count = "SELECT count(*) FROM blobs"
        #expect(try reader.read { try Int.fetchOne($0, sql: count) } == 0)
        let start = ContinuousClock.now
        try write(pages: 2_500)
        #expect(try logSize >= 2_500)
        // The next attempt is due after another quarter, so this one does not wait.
        try write(pages: 1)
        #expect(ContinuousClock.now - start < .seconds(10), "waits for 0.1 s, not for the busy timeout of 30 s")
        #expect(try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 30_000)
        #expect(try reader.read { try Int.fetchOne($0, sql: count) } == 0)
        try reader.close()
        try write(pages: 1_000)
        #expect(try logSize == 0)
        #expect(try pool.read { try Int.fetchOne($0, sql: count) } == 3)
    }

    /// Otherwise each commit would wait for the reader.
    @Test func theNextAttemptIsDueWhenTheLogHasGrownByAnotherQuarter() throws {
        let reader = try pool.makeSnapshot()
        _ = try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM blobs") }
        try write(pages: 2_500)
        try reader.close()
        try write(pages: 1)
        #expect(try logSize >= 2_500)
    }

    @Test func aReaderOfThePastDoesNotDelayTheEndOfTheNextLog() throws {
        let reader = try pool.makeSnapshot()
        _ = try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM blobs") }
        try write(pages: 5_000)
        try reader.close()
        // The first one copies the log, the second one begins at its start.
        try write(pages: 1)
        try write(pages: 1)
        try write(pages: 2_500)
        #expect(try logSize == 0)
    }

    @Test func theBusyTimeoutOfAnApplicationStays() throws {
        let reader = try pool.makeSnapshot()
        _ = try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM blobs") }
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA busy_timeout = 1234") }
        try write(pages: 2_500)
        #expect(try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 1_234)
        try reader.close()
        try write(pages: 1_000)
        #expect(try logSize == 0)
        #expect(try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 1_234)
    }

    @Test func theIntervalOfAnApplicationStays() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 77") }
        ConnectionSetUp.apply(to: &configuration)
        let pool = try DatabasePool(path: folder.path("other.db"), configuration: configuration)
        #expect(try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA wal_autocheckpoint") } == 77)
        try pool.close()
    }
}

import Foundation
import GRDB
import PowerSyncCoreTestSupport
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
        get throws {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("test.db-wal"))
            return try #require(attributes[.size] as? NSNumber).intValue / Self.pageSize
        }
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

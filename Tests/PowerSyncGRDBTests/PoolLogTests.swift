import Foundation
import GRDB
import PowerSync
import PowerSyncGRDB
import Testing

/// The bounds of the write-ahead log of an app's pool.
@Suite struct PoolLogTests {
    private static let pragmas = ["journal_size_limit", "cache_size", "wal_autocheckpoint", "busy_timeout"]

    /// The values of ``pragmas`` that we set.
    ///
    /// SQLite tells 0 for the interval when somebody else does the checkpoints. Apple builds it with a limit.
    private static func bounds() throws -> [Int] {
        let limit = try DatabaseQueue().read { try Int.fetchOne($0, sql: "PRAGMA journal_size_limit") } ?? -1
        return [limit == -1 ? 6_291_456 : limit, -51_200, 0, 0]
    }

    private func values(_ configure: (inout Configuration) throws -> Void) async throws -> [Int?] {
        let harness = try PoolHarness(configure: configure)
        try await harness.database.waitForReady()
        return try await harness.pool.writeWithoutTransaction { db in
            try Self.pragmas.map { try Int.fetchOne(db, sql: "PRAGMA \($0)") }
        }
    }

    @Test func poolHasBounds() async throws {
        #expect(try await values { try $0.configurePowerSync(schema: PoolHarness.schema) } == Self.bounds())
    }

    @Test func poolWithoutSetUpHasBounds() async throws {
        #expect(try await values { _ in } == Self.bounds())
    }

    @Test(arguments: [true, false])
    func whatTheAppSetsStaysBeforeAndAfterOurs(_ isEarlier: Bool) async throws {
        let set = { @Sendable (db: Database) in
            try db.execute(
                sql: "PRAGMA journal_size_limit = 77; PRAGMA cache_size = 33; PRAGMA wal_autocheckpoint = 55"
            )
        }
        let values = try await values { configuration in
            configuration.busyMode = .timeout(2)
            if isEarlier { configuration.prepareDatabase(set) }
            try configuration.configurePowerSync(schema: PoolHarness.schema)
            if !isEarlier { configuration.prepareDatabase(set) }
        }
        #expect(values == [77, 33, 55, 2_000])
    }

    @Test func checkpointsOfAnAppThatWaitsWithACallbackStay() async throws {
        let values = try await values { configuration in
            configuration.busyMode = .callback { _ in false }
            try configuration.configurePowerSync(schema: PoolHarness.schema)
        }
        #expect(values[2] == 1_000)
    }

    /// Beyond the size from which the log is truncated.
    @Test func aLargeTransactionLeavesASmallLog() async throws {
        let harness = try PoolHarness()
        try await harness.database.waitForReady()
        try await harness.pool.write { db in
            try db.execute(sql: "CREATE TABLE blobs (data BLOB); INSERT INTO blobs VALUES (zeroblob(80000000))")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: harness.pool.path + "-wal")
        #expect(try #require(attributes[.size] as? NSNumber).intValue < 7_000_000)
    }
}

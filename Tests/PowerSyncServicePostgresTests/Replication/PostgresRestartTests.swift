import Foundation
import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Servers that go away and come back.
@Suite(.timeLimit(.minutes(3))) struct PostgresRestartTests {
    private let cluster: TestCluster
    private let database: TestDatabase

    init() throws {
        cluster = try TestCluster()
        database = try TestDatabase(
            server: cluster.uri,
            "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)"
        )
    }

    @Test(arguments: TestCluster.Shutdown.allCases)
    func replicationGoesOnWhenTheServerIsBack(_ shutdown: TestCluster.Shutdown) async throws {
        let scenario = try PostgresScenario(database: database)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for round in 0..<3 {
                try database.run("INSERT INTO lists VALUES ('r\(round)')")
                // What is under way when the server stops comes when it is back.
                if round != 1 { try await scenario.caughtUp() }
                try database.disconnect()
                try cluster.stop(shutdown)
                try cluster.start()
                try database.run("INSERT INTO lists VALUES ('s\(round)')")
                try await scenario.caughtUp()
            }
            #expect(try await scenario.ids() == ["r0", "r1", "r2", "s0", "s1", "s2"])
        }
        #expect(try await scenario.storage.streams().count == 1)
    }

    @Test func aCopyGoesOnWhenTheServerIsBack() async throws {
        try database.run("INSERT INTO lists SELECT 'l' || n, 'u', 'name' FROM generate_series(1, 30000) n")
        let scenario = try PostgresScenario(database: database)
        try await scenario.replicating {
            while try await copiedRows(scenario) == 0 {}
            try database.disconnect()
            try cluster.stop(.immediate)
            try cluster.start()
            try database.run("UPDATE lists SET name = 'other' WHERE id < 'l2'; DELETE FROM lists WHERE id > 'l9'")
            try await scenario.caughtUp()
            let expected = try database.run("SELECT id, name FROM lists").map { "\($0[0] ?? "") \($0[1] ?? "")" }
            let found = try await scenario.rows().map { key, data in
                "\(key.dropFirst(6)) \(data.contains("other") ? "other" : "name")"
            }
            #expect(Set(found) == Set(expected))
        }
    }

    /// The changes of a large transaction; in `make soak`, as many as a migration of a large table makes.
    private static let largeTransaction =
        ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] == nil ? 20_000 : 400_000

    /// The server decodes all of it again before it sends anything.
    @Test func aLargeTransactionThatACrashOfTheServerInterruptsIsCaughtUpWith() async throws {
        let scenario = try PostgresScenario(database: database)
        try await scenario.replicating {
            try await scenario.caughtUp()
            try database.run(
                "INSERT INTO lists SELECT n::text, 'u', 'n' FROM generate_series(1, \(Self.largeTransaction)) n"
            )
            // Some of its changes are stored, and none is shown.
            try await scenario.wait { try await copiedRows(scenario) > 0 }
            try database.disconnect()
            try cluster.stop(.immediate)
            try cluster.start()
            let start = ContinuousClock.now
            try await scenario.caughtUp()
            #expect(ContinuousClock.now - start < .seconds(60))
            let checkpoint = try #require(scenario.storage.feed.current)
            let stream = try #require(try await scenario.stream())
            let bucket = BucketName(stream.bucketPrefix + "all|0[]")
            let state = try #require(try await scenario.storage.checksums([bucket], at: checkpoint)[bucket])
            // What was stored before is not given again.
            #expect(state.count == Self.largeTransaction)
        }
        #expect(try await scenario.storage.streams().count == 1)
    }

    /// Its name is as it was, its timeline too, and its log is shorter.
    @Test func everybodyFindsTheSameHistoryWhenTheFilesOfTheServerArePutBack() async throws {
        try database.disconnect()
        try cluster.keepFiles()
        let first = PostgresSource(.init(connection: database.connectionString), logger: CollectedLog().logger)
        let start = try await first.prepareStream("a", resumingAfter: nil, reached: nil)
        try database.run("INSERT INTO lists SELECT n::text, 'u', 'n' FROM generate_series(1, 10000) n")
        let stored = try await first.head()
        try first.close()
        try database.disconnect()
        try cluster.putFilesBack()

        let sources = (0..<4).map { _ in
            PostgresSource(.init(connection: database.connectionString), logger: CollectedLog().logger)
        }
        // One that replicates, and one that is asked for a write checkpoint; they do not speak to each other.
        await #expect(throws: ReplicationSourceError.self) {
            try await sources[0].prepareStream("a", resumingAfter: stored, reached: nil)
        }
        let copied = try await sources[0].prepareStream("b", resumingAfter: nil, reached: nil)
        let asked = try await sources[1].head(having: stored)
        #expect(copied.history != start.history)
        #expect(asked.history == copied.history)
        #expect(try await sources[0].head(having: stored).history == copied.history)
        // Those that start afterwards, when the log has become longer than it was.
        try database.run("INSERT INTO lists SELECT n::text, 'u', 'n' FROM generate_series(1, 30000) n")
        let resumed = try await sources[2].prepareStream("b", resumingAfter: copied, reached: nil)
        #expect(resumed.history == copied.history)
        #expect(try await sources[3].head(having: copied).history == copied.history)
        for source in sources { try source.close() }
    }

    private func copiedRows(_ scenario: PostgresScenario) async throws -> Int {
        try await scenario.storage.pool.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM operations") ?? 0
        }
    }

    @Test func aSlotThatTheServerGaveUpMeansANewStream() async throws {
        try cluster.set("max_slot_wal_keep_size", to: "1MB")
        var scenario = try PostgresScenario(database: database)
        try database.run("INSERT INTO lists VALUES ('a')")
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try loseSlots()
        try database.run("INSERT INTO lists VALUES ('b')")
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["a", "b"])
        #expect(scenario.log.lines.contains { $0.contains("PSYNC_S1146") })
    }

    @Test func aSlotThatIsLostDuringTheCopy() async throws {
        try cluster.set("max_slot_wal_keep_size", to: "64MB")
        let clock = TestClock()
        let scenario = try PostgresScenario(database: database, clock: clock)
        let (source, slot) = (scenario.source, "copy_\(database.name)")
        let position = try await source.prepareStream(slot, resumingAfter: nil, reached: nil)
        try await source.checkRetention(for: slot)
        #expect(scenario.log.lines.allSatisfy { !$0.contains("max_slot_wal_keep_size") })
        // More than half, wherever in a segment the slot begins.
        try writeLog(megabytes: 55)
        // Not asked again for a minute.
        try await source.checkRetention(for: slot)
        #expect(scenario.log.lines.allSatisfy { !$0.contains("max_slot_wal_keep_size") })
        clock.advance(by: .seconds(60))
        try await source.checkRetention(for: slot)
        #expect(scenario.log.lines.contains { $0.hasPrefix("warning ") && $0.contains("raise max_slot_wal_keep_size") })

        try cluster.set("max_slot_wal_keep_size", to: "1MB")
        try loseSlots()
        clock.advance(by: .seconds(60))
        func expectRefusal(_ code: ReplicationSourceError.Code, _ body: () async throws -> Void) async {
            let error = await #expect(throws: ReplicationSourceError.self) { try await body() }
            #expect(error?.code == code)
            #expect(error?.catalogueCode == .slotLost)
            #expect(error?.description.hasPrefix("[PSYNC_S1146] ") == true)
        }
        await expectRefusal(.retentionExceeded) { try await source.checkRetention(for: slot) }
        await expectRefusal(.retentionExceeded) {
            _ = try await source.prepareStream(slot, resumingAfter: position, reached: nil)
        }
        // Somebody may have raised the setting before the service was started again.
        let restarted = try scenario.reopened()
        await expectRefusal(.historyLost) {
            _ = try await restarted.source.prepareStream(slot, resumingAfter: position, reached: nil)
        }
        try await restarted.source.dropStream(slot)
    }

    /// Writes so much that the server throws away what slots need.
    private func loseSlots() throws {
        for _ in 0..<4 {
            try writeLog(megabytes: 20)
            try database.run("SELECT pg_switch_wal()")
            try database.run("CHECKPOINT")
        }
        #expect(try database.run("SELECT wal_status FROM pg_replication_slots") == [["lost"]])
    }

    private func writeLog(megabytes: Int) throws {
        try database.run(
            "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000)) FROM generate_series(1, \(megabytes))"
        )
    }
}

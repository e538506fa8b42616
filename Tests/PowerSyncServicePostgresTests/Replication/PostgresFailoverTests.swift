import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Standbys that take the place of their primary, with the slot of the service (docs/postgres.md "A fail-over").
@Suite(
    .timeLimit(.minutes(3)),
    .enabled(if: (TestCluster.version ?? 0) >= 17, "standbys have slots since PostgreSQL 17")
)
struct PostgresFailoverTests {
    private let cluster: TestCluster
    private let database: TestDatabase

    init() throws {
        cluster = try TestCluster()
        database = try TestDatabase(
            server: cluster.uri,
            "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)"
        )
    }

    private func write(_ id: String) throws {
        try database.run("INSERT INTO lists SELECT '\(id)' || n, 'u', '\(id)' FROM generate_series(1, 3) AS n")
    }

    /// A scenario whose slot is on a standby, which a server does once the slot has come past what the standby began with.
    private func scenarioWithStandby() async throws -> PostgresScenario {
        var scenario = try PostgresScenario(database: database)
        try write("a")
        try await scenario.replicate()
        try cluster.makeStandby()
        for round in 0... {
            try database.run("SELECT pg_log_standby_snapshot()")
            scenario = try scenario.reopened()
            try await scenario.replicate()
            try cluster.waitForStandby()
            if try cluster.standbyHasSlot() { break }
            try #require(round < 100, "the standby does not take the slot")
        }
        return scenario
    }

    private func expectNoCopy(_ scenario: PostgresScenario) async throws {
        #expect(try await scenario.storage.streams().count == 1)
        #expect(!scenario.log.lines.contains { $0.contains("lost its history") })
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        let expected = try database.run("SELECT id FROM lists").map { $0[0] ?? "" }
        #expect(try await scenario.ids() == Set(expected))
    }

    @Test func theServiceGoesOnWithTheSlotOfAPromotedStandby() async throws {
        let scenario = try await scenarioWithStandby()
        // More than the standby's slot was told of.
        try write("b")
        try await scenario.replicating {
            try await scenario.caughtUp()
            try write("c")
            try database.disconnect()
            try cluster.failOver()
            try write("d")
            try await scenario.caughtUp()
        }
        try await expectNoCopy(scenario)
        #expect(scenario.log.lines.contains { $0.contains("After a fail-over") })

        // What is stored is of the new timeline now.
        let restarted = try scenario.reopened()
        try write("e")
        try await restarted.replicate()
        try await expectNoCopy(restarted)
        try await restarted.expectSameRowsAsAFreshCopy()
    }

    @Test func aProcessThatStartsAfterTheFailoverGoesOn() async throws {
        let scenario = try await scenarioWithStandby()
        try write("b")
        try await scenario.replicate()
        let restarted = try scenario.reopened()
        try database.disconnect()
        try cluster.failOver()
        try write("c")
        try await restarted.replicate()
        try await expectNoCopy(restarted)
    }

    @Test func everythingIsCopiedAgainWhenTheStandbyWasBehind() async throws {
        let scenario = try await scenarioWithStandby()
        try cluster.stopStandby()
        try write("lost")
        try await scenario.replicate()
        let lost = scenario.storage.feed.current?.streamID
        let restarted = try scenario.reopened()
        try database.disconnect()
        try cluster.failOver()
        try write("b")
        try await restarted.replicating {
            try await restarted.published { $0.streamID != lost }
            try await restarted.caughtUp()
        }
        #expect(try await restarted.ids() == ["a1", "a2", "a3", "b1", "b2", "b3"])
        #expect(restarted.log.lines.contains { $0.contains("lost its history") })
    }
}

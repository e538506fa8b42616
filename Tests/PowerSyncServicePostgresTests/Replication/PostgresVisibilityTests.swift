import PostgresTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Readers may see a transaction later than the change stream delivers it: when a standby confirms it, for example.
@Suite(.timeLimit(.minutes(1))) struct PostgresVisibilityTests {
    @Test func transactionsThatWriteToATableAreWaitedForAndNoOthers() async throws {
        let clock = TestClock()
        let scenario = try PostgresScenario(
            "CREATE TABLE lists (id text PRIMARY KEY); CREATE TABLE other (id text PRIMARY KEY)",
            clock: clock
        )
        let (source, database) = (scenario.source, scenario.database)
        let table = try #require(try await source.tables(for: plan(PostgresScenario.allLists)).first)
        let (reader, idle, late) = (try database.connect(), try database.connect(), try database.connect())
        _ = try reader.run("BEGIN; INSERT INTO other VALUES ('a'); SELECT * FROM lists")
        // It does not commit.
        _ = try idle.run("BEGIN; INSERT INTO lists VALUES ('c')")
        try await source.waitUntilShown(table)

        var writer: Session? = try database.connect()
        try writer?.sendWithoutEnd("INSERT INTO lists VALUES ('a')", observedBy: database)
        let waiting = Task { try await source.waitUntilShown(table) }
        try await clock.waitForTimer(of: .milliseconds(5))
        try late.sendWithoutEnd("INSERT INTO lists VALUES ('b')", observedBy: database)
        writer = nil
        let held = "(SELECT count(*) FROM pg_locks WHERE relation = 'lists'::regclass AND mode = 'RowExclusiveLock')"
        try database.waitUntil("\(held) = 2")
        clock.advance(by: .milliseconds(5))
        try await waiting.value
        #expect(try await source.writers(of: table).count == 1)
        withExtendedLifetime((reader, idle, late)) {}
    }

    @Test func aTransactionThatDoesNotEndIsNamedAfterHalfAMinute() async throws {
        let clock = TestClock()
        let scenario = try PostgresScenario("CREATE TABLE lists (id text PRIMARY KEY)", clock: clock)
        let table = try #require(try await scenario.source.tables(for: plan(PostgresScenario.allLists)).first)
        let writer = try scenario.database.connect()
        try writer.sendWithoutEnd("INSERT INTO lists VALUES ('a')", observedBy: scenario.database)
        let waiting = Task { try await scenario.source.waitUntilShown(table) }
        try await clock.waitForTimer(of: .milliseconds(5))
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: ReplicationSourceError.self) { try await waiting.value }
        #expect(error?.code == .tableUnavailable)
        #expect(error?.message.contains("write to public.lists") == true, "\(String(describing: error))")
        withExtendedLifetime(writer) {}
    }
}

import PostgresTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// A source behind a pooler that carries replication connections (docs/postgres-storage.md "Poolers").
///
/// PgBouncer does so from version 1.23 on. With an older one a source is refused, as `PoolerTests` shows.
@Suite(.enabled(if: !TestPooler.isUnwanted, "POWERSYNC_NO_PROXIES is set"), .timeLimit(.minutes(1)))
struct PooledSourceTests {
    /// A scenario whose source is behind a pooler of sessions, if this one carries replication connections.
    private func scenario() throws -> (scenario: PostgresScenario, pooler: TestPooler)? {
        let pooler = try TestPooler(.session)
        guard try pooler.carriesReplication else { return nil }
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)")
        try database.run("INSERT INTO lists VALUES ('a', 'u', 'one')")
        var settings = PostgresSource.Settings(
            connection: PostgresConnectionString(pooler.uri(of: database.name))
        )
        settings.heartbeatInterval = .milliseconds(50)
        let log = CollectedLog()
        let source = PostgresSource(settings, logger: log.logger)
        return (try PostgresScenario(database: database, source: source, log: log), pooler)
    }

    @Test func rowsAreCopiedAndFollowedThroughAPoolerOfSessions() async throws {
        guard let (scenario, pooler) = try scenario() else { return }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
            try scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'two'); DELETE FROM lists WHERE id = 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["b"])
            // Tables that change are noticed on other sessions.
            try scenario.database.run("ALTER TABLE lists ADD size int DEFAULT 3")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.rows().values.allSatisfy { $0.contains(#""size":3"#) })
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        withExtendedLifetime(pooler) {}
    }

    @Test func replicationGoesOnWhenThePoolerHasClosedItsSessions() async throws {
        guard let (scenario, pooler) = try scenario() else { return }
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.disconnectEverybody()
            try scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'two')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
        }
        withExtendedLifetime(pooler) {}
    }
}

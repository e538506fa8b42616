import Foundation
import PostgresTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A change stream that something between the server and the service has forgotten (docs/postgres.md "How it is followed").
@Suite(.timeLimit(.minutes(1))) struct PostgresSilenceTests {
    private let database: TestDatabase
    private let proxy: ForgetfulProxy
    private let clock = TestClock()
    private let scenario: PostgresScenario

    init() async throws {
        database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)")
        let address = try #require(URLComponents(string: database.connectionString.text))
        proxy = try await ForgetfulProxy(to: try #require(address.port))
        var behind = address
        behind.port = proxy.port
        let log = CollectedLog()
        let settings = PostgresSource.Settings(connection: PostgresConnectionString(try #require(behind.string)))
        scenario = try PostgresScenario(
            database: database,
            source: PostgresSource(settings, clock: clock, logger: log.logger),
            log: log
        )
    }

    /// Lets time pass as the reader waits, until so much of it has.
    private func pass(_ time: Duration) async throws {
        var passed = Duration.zero
        while passed < time {
            let delay = try await clock.nextTimerScheduled()
            clock.advance(by: delay)
            passed += delay
        }
    }

    @Test func aStreamThatFellSilentIsOpenedAgain() async throws {
        let (scenario, proxy) = (scenario, proxy)
        try await scenario.replicating {
            try await scenario.caughtUp()
            // Those that made the slot are closed.
            #expect(proxy.forget(beginningWith: "replication\0database\0") > 0)
            try scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'n')")
            try await pass(.seconds(119))
            #expect(!scenario.log.lines.contains { $0.contains("has sent nothing") })
            // A process that has the slot may be decoding something of which it sends nothing.
            try await pass(.seconds(120))
            _ = try await scenario.log.line(containing: "is still decoding")
            #expect(!scenario.log.lines.contains { $0.contains("opened again") })
            // The server would notice the silence, too, within its own time.
            try scenario.database.run(
                """
                SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots
                WHERE database = current_database()
                """
            )
            try await pass(.seconds(63))
            _ = try await scenario.log.line(containing: "sign of life", "opened again")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
        }
        try await proxy.stop()
    }

    @Test func anIdleServerIsHeard() async throws {
        let (scenario, proxy) = (scenario, proxy)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for _ in 0..<10 {
                try await pass(.seconds(59))
                // A marker goes through the log and comes back, in the time of the machine.
                try await scenario.caughtUp()
            }
            #expect(scenario.log.lines.allSatisfy { !$0.contains("sign of life") })
            try scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'n')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
        }
        try await proxy.stop()
    }
}

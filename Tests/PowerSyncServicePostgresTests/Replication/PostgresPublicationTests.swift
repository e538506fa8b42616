import NIOConcurrencyHelpers
import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A publication that changes while it is replicated, and tables that go while nobody looks (docs/postgres.md "Changed tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresPublicationTests {
    private static let tables = """
        CREATE TABLE lists (id text PRIMARY KEY, name text); INSERT INTO lists VALUES ('a', 'one'), ('b', 'two')
        """

    @Test(arguments: [
        ("DROP PUBLICATION powersync", "PSYNC_S1141"),
        ("ALTER PUBLICATION powersync RENAME TO other", "PSYNC_S1141"),
        ("ALTER PUBLICATION powersync SET (publish = 'insert')", "PSYNC_S1142"),
    ])
    func aPublicationThatCannotBeReplicatedTakesNoRowsAway(_ sql: String, _ code: String) async throws {
        let scenario = try PostgresScenario(Self.tables, catalogueInterval: .milliseconds(50))
        try await scenario.replicating {
            try await scenario.caughtUp()
            let checkpoint = try #require(scenario.storage.feed.current)
            try scenario.database.run(sql)
            _ = try await scenario.log.line(containing: code)
            #expect(scenario.storage.feed.current?.opID == checkpoint.opID)
            #expect(try await scenario.ids() == ["a", "b"])
            try scenario.database.run("INSERT INTO lists VALUES ('c', 'three')")
            try scenario.database.run(
                "DROP PUBLICATION IF EXISTS powersync, other; CREATE PUBLICATION powersync FOR ALL TABLES"
            )
            try await scenario.published { $0.opID > checkpoint.opID }
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
    }

    @Test func whatATransactionHasMovedOutOfATableThatItDropsIsThereWhenTheTableIsGone() async throws {
        let config = """
            config: {edition: 3}
            streams:
              all:
                queries: [SELECT * FROM lists, SELECT * FROM archive]
            """
        let first = try PostgresScenario(
            Self.tables + "; CREATE TABLE archive (id text PRIMARY KEY, name text)",
            config: config
        )
        try await first.replicate()
        // More than one read of the change stream.
        try first.database.run("INSERT INTO archive SELECT 'x' || n, 'extra' FROM generate_series(1, 60000) n")
        try first.database.run("BEGIN; INSERT INTO archive SELECT * FROM lists; DROP TABLE lists; COMMIT")
        let scenario = try first.reopened()
        let counts = NIOLockedValueBox<[Int]>([])
        try await scenario.replicating {
            let stream = try #require(try await scenario.stream())
            let head = try await scenario.source.head()
            try await scenario.source.emitMarker()
            let active = try #require(try await scenario.storage.activeStream())
            for try await checkpoint in scenario.storage.checkpoints(of: active) {
                let operations = try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint)
                let rows = reduce(operations).keys.filter { !$0.hasPrefix("archive/x") }
                counts.withLockedValue { $0.append(rows.count) }
                if checkpoint.lsn >= head.lsn { break }
            }
        }
        #expect(counts.withLockedValue { $0.allSatisfy { $0 == 2 } }, "\(counts.withLockedValue { $0 })")
        #expect(try await scenario.ids().isSuperset(of: ["a", "b"]))
    }

    @Test(arguments: [
        [
            "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public",
            "ALTER PUBLICATION powersync DROP TABLES IN SCHEMA public",
            "INSERT INTO lists VALUES ('q', 'quiet'); DELETE FROM lists WHERE id = 'a'",
            "ALTER PUBLICATION powersync ADD TABLES IN SCHEMA public",
        ]
    ])
    func whatWasNotPublishedForAWhileIsCopiedAgain(_ statements: [String]) async throws {
        let first = try PostgresScenario(Self.tables)
        let version = try first.database.run("SHOW server_version_num").first?.first.flatMap { $0.flatMap { Int($0) } }
        guard let version, version >= 150_000 else { return }
        try first.database.run(statements[0])
        try await first.replicate()
        for statement in statements.dropFirst() { try first.database.run(statement) }
        let scenario = try first.reopened()
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["b", "q"])
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aPartitionThatWasDetachedForAWhileIsCopiedAgain() async throws {
        let first = try PostgresScenario(
            """
            CREATE TABLE parts (id text PRIMARY KEY, name text) PARTITION BY LIST (id);
            CREATE TABLE lists PARTITION OF parts FOR VALUES IN ('a', 'b', 'q');
            INSERT INTO parts VALUES ('a', 'one'), ('b', 'two');
            DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE parts
            """
        )
        try await first.replicate()
        #expect(try await first.ids() == ["a", "b"])
        try first.database.run("ALTER TABLE parts DETACH PARTITION lists")
        try first.database.run("INSERT INTO lists VALUES ('q', 'quiet'); DELETE FROM lists WHERE id = 'a'")
        try first.database.run("ALTER TABLE parts ATTACH PARTITION lists FOR VALUES IN ('a', 'b', 'q')")
        let scenario = try first.reopened()
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["b", "q"])
    }
}

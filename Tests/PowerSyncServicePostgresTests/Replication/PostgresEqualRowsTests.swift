import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Tables without a key, which may have equal rows (docs/postgres.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresEqualRowsTests {
    private static let table = """
        CREATE TABLE lists (id text, name text);
        ALTER TABLE lists REPLICA IDENTITY FULL;
        INSERT INTO lists VALUES ('a', 'one'), ('a', 'one'), ('b', 'one')
        """
    /// Deletes one row of those with an id.
    private static func deleteOne(_ id: String) -> String {
        "DELETE FROM lists WHERE ctid = (SELECT ctid FROM lists WHERE id = '\(id)' LIMIT 1)"
    }

    @Test func deletingOneOfTwoEqualRowsLeavesTheOther() async throws {
        let scenario = try PostgresScenario(Self.table)
        try await scenario.replicating {
            try await scenario.caughtUp()
            let copied = try #require(scenario.storage.feed.current)
            try scenario.database.run(Self.deleteOne("a"))
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
            #expect(scenario.storage.feed.current?.opID == copied.opID)
            try scenario.database.run(Self.deleteOne("a"))
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["b"])
            // One is inserted, and one of three is taken away in the same transaction.
            try scenario.database.run("BEGIN; INSERT INTO lists SELECT * FROM lists; \(Self.deleteOne("b")); COMMIT")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["b"])
            try scenario.database.run("BEGIN; DELETE FROM lists; INSERT INTO lists VALUES ('c', 'x'); COMMIT")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["c"])
        }
    }

    @Test func updatingOneOfTwoEqualRowsLeavesTheOther() async throws {
        let scenario = try PostgresScenario(
            Self.table,
            config: """
                config: {edition: 3}
                streams:
                  all: {query: "SELECT id || '/' || name AS id FROM lists"}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run(
                "UPDATE lists SET name = 'two' WHERE ctid = (SELECT ctid FROM lists WHERE id = 'a' LIMIT 1)"
            )
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a/one", "a/two", "b/one"])
            try scenario.database.run("UPDATE lists SET name = 'three' WHERE id = 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a/three", "b/one"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func equalRowsAreRightWhenTheirTransactionsAreReadAgain() async throws {
        var scenario = try PostgresScenario(Self.table)
        try await scenario.replicate()
        for round in 0..<3 {
            // Nothing of it is acknowledged when the service ends: the server sends it again.
            try scenario.database.run(round == 0 ? "INSERT INTO lists VALUES ('b', 'one')" : Self.deleteOne("b"))
            scenario = try scenario.reopened()
            try await scenario.replicate()
            #expect(try await scenario.ids() == (round < 2 ? ["a", "b"] : ["a"]))
        }
    }

    @Test func valuesOfAnyTypeAreFoundAsTheyArePrinted() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TYPE pair AS (a int, b json);
            CREATE TABLE lists (id text, note text, flag boolean, code char(4), data json, place point, net inet, price numeric,
                number float8, bytes bytea, pair pair, at timestamptz);
            ALTER TABLE lists REPLICA IDENTITY FULL;
            INSERT INTO lists SELECT r.* FROM generate_series(1, 2), (VALUES
                ('a', 'it''s \\ "x"', true, 'x', '{"a": 1}'::json, '(1,2)'::point, '10.0.0.1'::inet, 1.0, 'NaN'::float8,
                    '\\x00ff'::bytea, '(1,"[]")'::pair, '2024-05-06 07:08:09.5+02'::timestamptz),
                ('b', '', false, '', NULL, NULL, NULL, 1.00, 0.1, '', NULL, 'infinity'),
                ('c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) r
            """,
            config: "config: {edition: 3}\nstreams: {all: {query: 'SELECT id FROM lists'}}"
        )
        try await scenario.replicating {
            for left in [1, 0] {
                for id in ["a", "b", "c"] { try scenario.database.run(Self.deleteOne(id)) }
                try await scenario.caughtUp()
                #expect(try await scenario.ids() == (left == 0 ? [] : ["a", "b", "c"]))
            }
        }
    }

    @Test func equalRowsOverAStorageInPostgreSQL() async throws {
        let (database, other) = (try TestDatabase(Self.table), try TestDatabase())
        let log = CollectedLog()
        let storage = try await PostgresBucketStorage.open(
            PostgresBucketStorage.Settings(connection: other.connectionString),
            logger: log.logger
        )
        let source = PostgresSource(PostgresSource.Settings(connection: database.connectionString), logger: log.logger)
        var plan = try plan(PostgresScenario.allLists)
        plan.defaultSchema = PostgresSource.defaultSchema
        _ = try await storage.deploy(PostgresScenario.allLists, plan: plan)
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: log.logger,
            touch: {}
        )
        try await replicator.whileRunning {
            for expected: Set<String> in [["a", "b"], ["a", "b"], ["b"]] {
                let head = try await source.head()
                try await source.emitMarker()
                while storage.feed.current.map({ $0.lsn < head.lsn }) ?? true {
                    let seen = storage.feed.signal.version
                    if storage.feed.current.map({ $0.lsn < head.lsn }) ?? true {
                        try await storage.feed.signal.wait(after: seen)
                    }
                }
                let newest = try #require(storage.feed.current)
                let stream = try #require(try await storage.streams().first { $0.id == newest.streamID })
                let rows = reduce(try await storage.allOperations("all|0[]", of: stream, at: newest))
                #expect(Set(rows.keys) == Set(expected.map { "lists/\($0)" }))
                try database.run(Self.deleteOne("a"))
            }
        }
        try source.close()
        try storage.close()
    }
}

import Foundation
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Updates of which the server sends no large value that stays, and those of a table that has other columns for a while: their
/// rows are read by their keys.
@Suite(.timeLimit(.minutes(1))) struct PostgresPartialUpdateTests {
    @Test func updatesWithoutAnEnd() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, views int, body text);
            ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
            INSERT INTO lists SELECT 'l' || n, 0, repeat('x', 10000) FROM generate_series(1, 20) n;
            CREATE TABLE ending (id int)
            """,
            config: """
                config: {edition: 3}
                streams:
                  all: {query: 'SELECT id, views, length(body) AS size FROM lists'}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let writer = try scenario.database.connect()
            let ended = NIOLockedValueBox<Result<Void, any Error>?>(nil)
            let thread = Thread {
                let result = Result {
                    // Each a transaction, about 500 a second.
                    _ = try writer.run(
                        """
                        DO $$ DECLARE n int := 0; BEGIN
                            WHILE NOT EXISTS (SELECT 1 FROM ending) LOOP
                                n := n + 1;
                                UPDATE lists SET views = views + 1 WHERE id = 'l' || (1 + n % 20);
                                COMMIT;
                                PERFORM pg_sleep(0.002);
                            END LOOP;
                        END $$
                        """
                    )
                }
                ended.withLockedValue { $0 = result }
            }
            thread.start()
            for number in 1...5 {
                try scenario.database.run("INSERT INTO lists VALUES ('new \(number)', 0, 'small')")
                while true {
                    let seen = scenario.storage.feed.signal.version
                    if try await scenario.ids().contains("new \(number)") { break }
                    try await scenario.storage.feed.signal.wait(after: seen)
                }
                #expect(ended.withLockedValue { $0 == nil })
            }
            try scenario.database.run("INSERT INTO ending VALUES (1)")
            try await scenario.caughtUp()
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: ["timestamptz", "timestamp", "date"])
    func keysThatAreConverted(_ type: String) async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text, until \(type), name text, body text, PRIMARY KEY (id, until));
            ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
            INSERT INTO lists VALUES ('a', 'infinity', 'one', repeat('x', 10000)), ('b', '-infinity', 'one', repeat('x', 10000)),
                ('c', '2024-05-06 07:08:09.123456', 'one', repeat('x', 10000))
            """,
            config: """
                config: {edition: 3, timestamp_max_precision: milliseconds}
                streams:
                  all: {query: 'SELECT id, name, length(body) AS size FROM lists'}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "c"])
            try scenario.database.run("UPDATE lists SET name = 'two'")
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            #expect(
                rows.values.sorted() == ["a", "b", "c"].map { #"{"id":"\#($0)","name":"two","size":10000}"# }
            )
        }
    }

    /// A key of a type that has no equality without a schema, or none for arrays.
    struct Key: CustomTestStringConvertible, Sendable {
        /// Makes the type.
        var setup = ""
        var type: String
        var columns = "path"
        /// Two values.
        var values: (String, String)

        var testDescription: String { "\(type) in (\(columns))" }

        static let all = [
            Key(type: "int[]", values: ("{1,2}", "{3}")),
            Key(type: "int[]", columns: "id, path", values: ("{1,2}", "{3}")),
            Key(setup: "CREATE DOMAIN numbers AS int[];", type: "numbers", values: ("{1,2}", "{3}")),
            Key(setup: "CREATE EXTENSION citext;", type: "citext", values: ("A", "b")),
            Key(setup: "CREATE EXTENSION citext;", type: "citext", columns: "id, path", values: ("A", "b")),
            Key(setup: "CREATE EXTENSION ltree;", type: "ltree", values: ("a.b", "a.c")),
            Key(setup: "CREATE TYPE pair AS (a int, b text);", type: "pair", values: ("(1,x)", "(2,\"y z\")")),
            Key(setup: "CREATE TYPE mood AS ENUM ('good', 'bad');", type: "mood", values: ("good", "bad")),
        ]
    }

    @Test(arguments: Key.all)
    func keysOfAnyType(_ key: Key) async throws {
        let scenario = try PostgresScenario(
            """
            \(key.setup) CREATE TABLE lists (id text, path \(key.type), name text, body text, PRIMARY KEY (\(key.columns)));
            ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
            INSERT INTO lists VALUES ('a', '\(key.values.0)', 'one', repeat('x', 10000)),
                ('b', '\(key.values.1)', 'one', repeat('x', 10000))
            """,
            config: """
                config: {edition: 3}
                streams:
                  all: {query: 'SELECT id, name, length(body) AS size FROM lists'}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
            try scenario.database.run("UPDATE lists SET name = 'two'")
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            #expect(rows.values.sorted() == ["a", "b"].map { #"{"id":"\#($0)","name":"two","size":10000}"# })
        }
    }

    @Test(arguments: [
        "ALTER TABLE lists ADD tmp int; UPDATE lists SET name = 'new'; ALTER TABLE lists DROP tmp",
        "ALTER TABLE lists ADD tmp int DEFAULT 7; UPDATE lists SET name = NULL; DELETE FROM lists WHERE id = 'b'; "
            + "ALTER TABLE lists DROP tmp",
    ])
    func columnsForAWhile(_ sql: String) async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text, name text, note text, data json, place point);
            ALTER TABLE lists REPLICA IDENTITY FULL;
            INSERT INTO lists VALUES ('a', 'one', NULL, '{"a": 1}', '(1,2)'), ('b', 'two', 'x', NULL, NULL)
            """,
            config: PostgresScenario.allLists,
            catalogueInterval: .milliseconds(50)
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("BEGIN; \(sql); COMMIT")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids().contains("a"))
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: [("id, name", false), ("id, name, length(body) AS size", true)])
    func rowsAreReadForLargeValuesOfStreamsOnly(columns: String, areRead: Bool) async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, name text, body text); ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
            INSERT INTO lists SELECT n, 'one', repeat('x', 10000) FROM generate_series(1, 10) n
            """,
            config: "config: {edition: 3}\nstreams: {all: {query: 'SELECT \(columns) FROM lists'}}"
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run(
                "UPDATE lists SET name = 'two'; UPDATE lists SET body = body || 'y' WHERE id = '1'"
            )
            try await scenario.caughtUp()
            // What rows were read of is kept for a while.
            #expect(scenario.source.rowView.hasView == areRead)
            #expect(try await scenario.rows().values.allSatisfy { $0.contains(#""name":"two""#) })
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// A source that notes which rows are read by their keys, and how often some are.
    private final class NotingSource: ForwardingSource, RowReadingSource {
        let source: PostgresSource
        let ids = NIOLockedValueBox<[SQLValue]>([])
        let reads = NIOLockedValueBox(0)

        init(_ source: PostgresSource) { self.source = source }

        var rowReading: (any RowReadingSource)? { self }

        func rows(
            of table: SourceTableDescriptor,
            keys: [[SQLValue]],
            showing moments: Set<SourceMoment>
        ) async throws -> PresentRows {
            let present = try await source.rows(of: table, keys: keys, showing: moments)
            ids.withLockedValue { $0 += present.rows.compactMap { $0["id"] } }
            reads.withLockedValue { $0 += 1 }
            return present
        }

        func shows(_ moment: SourceMoment) -> Bool { source.shows(moment) }

        func releaseRows() async throws { try await source.releaseRows() }
    }

    /// Of rows that are updated while they are copied, those whose large value stays are read once more, many at a time.
    @Test func aFirstCopyReadsRowsAgainWhoseValuesAreMissing() async throws {
        var scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id int PRIMARY KEY, views int, body text); ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
            INSERT INTO lists SELECT n, 0, repeat('x', 10000) FROM generate_series(1, 600) n
            """,
            config: """
                config: {edition: 3}
                streams:
                  all: {query: 'SELECT id, views, length(body) AS size FROM lists'}
                """
        )
        let noting = NotingSource(scenario.source)
        let held = HeldSource(noting)
        scenario.front = held
        // A page has 5 MiB.
        held.hold("lists", afterRows: 300)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            // The whole row is in the log where the value is another one, and where a row is new.
            try scenario.database.run(
                """
                UPDATE lists SET views = views + 1 WHERE id <= 300; UPDATE lists SET body = body || 'y' WHERE id > 500;
                INSERT INTO lists SELECT n, 0, repeat('z', 10000) FROM generate_series(601, 650) n; DELETE FROM lists WHERE id = 400
                """
            )
            held.release()
            try await scenario.caughtUp()
        }
        let ids = noting.ids.withLockedValue(\.self)
        #expect(Set(ids) == Set((1...300).map { .integer($0) }))
        #expect(ids.count == 300)
        #expect(noting.reads.withLockedValue(\.self) < 100)
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func rowsWithoutAKeyAreFoundByAllTheirValues() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text, note text, flag boolean, code char(4), data json, place point, list json[]);
            ALTER TABLE lists REPLICA IDENTITY FULL;
            INSERT INTO lists VALUES ('a', NULL, true, 'x', '{"a": 1}', '(1,2)', ARRAY['1'::json]),
                ('a', 'n', NULL, NULL, NULL, NULL, NULL)
            """
        )
        let table = try #require(try await scenario.source.tables(for: plan(PostgresScenario.allLists)).first)
        let keys: [[SQLValue]] = [
            ["a", nil, "t", "x   ", #"{"a": 1}"#, "(1,2)", "{1}"], ["a", "n", nil, nil, nil, nil, nil],
            ["a", nil, nil, nil, nil, nil, nil],
        ]
        let present = try await scenario.source.rows(of: table, keys: keys, showing: [])
        #expect(present.rows.count == 2)
        try scenario.source.close()
    }
}

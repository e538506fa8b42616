import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Rows that are more than rows of one small table.
@Suite(.timeLimit(.minutes(1))) struct PostgresRowTests {
    @Test func rowsOfAChildTableAreItsOwnAlsoWhenTheyAreWrittenThroughItsParent() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, name text);
            CREATE TABLE child (extra text, PRIMARY KEY (id)) INHERITS (lists);
            INSERT INTO lists VALUES ('p', 'parent'); INSERT INTO child VALUES ('a', 'first', 'x')
            """,
            config: """
                config: {edition: 3}
                streams:
                  all:
                    queries:
                      - SELECT * FROM lists
                      - SELECT * FROM child
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let parent = #"{"id":"p","name":"parent"}"#
            let first = #"{"id":"a","name":"first","extra":"x"}"#
            #expect(try await scenario.rows() == ["lists/p": parent, "child/a": first])
            try scenario.database.run(
                "INSERT INTO child VALUES ('b', 'second', 'y'); UPDATE lists SET name = name || '!' WHERE id <> 'p'"
            )
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows() == [
                    "lists/p": parent, "child/a": #"{"id":"a","name":"first!","extra":"x"}"#,
                    "child/b": #"{"id":"b","name":"second!","extra":"y"}"#,
                ]
            )
            try scenario.database.run("DELETE FROM lists WHERE id = 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows().keys.sorted() == ["child/b", "lists/p"])
            // Of the parent alone.
            try scenario.database.run("TRUNCATE ONLY lists")
            try await scenario.caughtUp()
            #expect(try await scenario.rows().keys.sorted() == ["child/b"])
        }
    }

    @Test func keysWithMarksBeforeCombiningCharactersAndALargeValueThatAnUpdateLeavesAsItIs() async throws {
        let scenario = try PostgresScenario(
            "CREATE TABLE lists (id text PRIMARY KEY, name text, body text); ALTER TABLE lists ALTER body SET STORAGE EXTERNAL"
        )
        let keys = ["a\\\u{301}", "a\"\u{301}", "a'\u{200D}"]
        for key in keys {
            try scenario.database.run(
                "INSERT INTO lists VALUES (\(PostgresText.literal(key)), 'one', repeat('x', 100000))"
            )
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == Set(keys))
            // Each row is read by its key.
            try scenario.database.run("UPDATE lists SET name = 'two'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == Set(keys))
            let rows = try await scenario.rows()
            #expect(rows.values.allSatisfy { $0.contains(#""name":"two""#) && $0.utf8.count > 100_000 })
        }
    }

    @Test func aRowThatIsTooLargeForAStreamItsClientsKeepWhatTheyHaveWithOneWarningUntilItIsSmallAgain() async throws {
        let scenario = try PostgresScenario(
            "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text); INSERT INTO lists VALUES ('a', 'u1', 'small')",
            config: """
                config: {edition: 3}
                streams:
                  wide: {query: SELECT * FROM lists}
                  narrow: {query: 'SELECT id, owner FROM lists'}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let wide = ["lists/a": #"{"id":"a","owner":"u1","name":"small"}"#]
            #expect(try await scenario.rows("wide|0[]") == wide)
            try scenario.database.run("UPDATE lists SET owner = 'u2', name = repeat('x', 17000000)")
            try await scenario.caughtUp()
            #expect(try await scenario.rows("wide|0[]") == wide)
            #expect(try await scenario.rows("narrow|0[]") == ["lists/a": #"{"id":"a","owner":"u2"}"#])
            #expect(scenario.log.lines.count { $0.contains("PSYNC_S1002") && $0.contains("wide|0[]") } == 1)
            try scenario.database.run("UPDATE lists SET owner = 'u3', name = 'again'")
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows("wide|0[]") == ["lists/a": #"{"id":"a","owner":"u3","name":"again"}"#]
            )
            #expect(try await scenario.rows("narrow|0[]") == ["lists/a": #"{"id":"a","owner":"u3"}"#])
        }
    }
}

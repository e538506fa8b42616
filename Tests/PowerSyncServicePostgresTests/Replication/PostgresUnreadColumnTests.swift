import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Changes of a table that concern no stream: nothing is copied, and nobody gets anything (docs/postgres.md "Changed tables").
@Suite(.timeLimit(.minutes(5))) struct PostgresUnreadColumnTests {
    /// Statements, each in a transaction of its own.
    static let changes: [[String]] = [
        ["ALTER TABLE lists ADD color text"], ["ALTER TABLE lists ADD color text DEFAULT 'red'"],
        ["ALTER TABLE lists DROP size"], ["ALTER TABLE lists DROP note"], ["ALTER TABLE lists RENAME size TO length"],
        ["ALTER TABLE lists DROP size", "ALTER TABLE lists ADD size text DEFAULT 'small'"],
        [
            "ALTER TABLE lists RENAME size TO x", "ALTER TABLE lists RENAME note TO size",
            "ALTER TABLE lists RENAME x TO note",
        ],
        ["ALTER TABLE lists ALTER note TYPE varchar"], ["ALTER TABLE lists ALTER size SET DEFAULT 5"],
        ["ALTER TABLE lists ALTER name SET DEFAULT 'new'"], ["ALTER TABLE lists ALTER name SET STATISTICS 50"],
        ["ALTER TABLE lists ALTER name SET NOT NULL"], ["COMMENT ON COLUMN lists.name IS 'shown'"],
        ["GRANT SELECT ON lists TO PUBLIC"], ["CREATE INDEX ON lists (name)", "ANALYZE lists"],
        ["REINDEX TABLE CONCURRENTLY lists"], ["ALTER TABLE lists REPLICA IDENTITY FULL"],
        ["ALTER TABLE lists ADD CONSTRAINT c CHECK (size < 1000)"],
    ]

    private func scenario() throws -> PostgresScenario {
        try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, size int, name text, note text);
            INSERT INTO lists VALUES ('a', 1, 'one', 'x'), ('b', 2, 'two', 'y')
            """,
            config:
                "{config: {edition: 3}, streams: {all: {query: \"SELECT id, name FROM lists WHERE name <> 'hidden'\"}}}",
            catalogueInterval: .milliseconds(50)
        )
    }

    private static func copies(_ scenario: PostgresScenario) -> Int {
        scenario.log.lines.count { $0.contains("has been copied") }
    }

    @Test(arguments: changes) func nothingIsCopiedOrSent(_ change: [String]) async throws {
        let scenario = try scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let copied = try #require(scenario.storage.feed.current)
            for sql in change { try scenario.database.run(sql) }
            try await scenario.caughtUpWithTables()
            try scenario.database.run("UPDATE lists SET name = name")
            try await scenario.caughtUp()
            #expect(scenario.storage.feed.current?.opID == copied.opID)
            try scenario.database.run("UPDATE lists SET name = 'other' WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(scenario.storage.feed.current?.opID.rawValue == copied.opID.rawValue + 1)
            #expect(try await scenario.rows()["lists/b"] == #"{"id":"b","name":"other"}"#)
            #expect(Self.copies(scenario) == 1)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: changes) func rowsThatChangeMeanwhileAreRight(_ change: [String]) async throws {
        var scenario = try scenario()
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            try scenario.database.run(
                "UPDATE lists SET name = 'before ' || id; INSERT INTO lists (id, name) VALUES ('c', 'before')"
            )
            for sql in change {
                try scenario.database.run(sql)
                try scenario.database.run(
                    "UPDATE lists SET name = name || '.' WHERE id <> 'b'; DELETE FROM lists WHERE id = 'd'"
                )
                try scenario.database.run("INSERT INTO lists (id, name) VALUES ('d', 'between')")
            }
            try await scenario.caughtUpWithTables()
            #expect(Self.copies(scenario) == 1)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        // And while nobody looks.
        scenario = try scenario.reopened()
        try scenario.database.run(
            "UPDATE lists SET name = 'later'; ALTER TABLE lists ADD another int DEFAULT 7; DELETE FROM lists WHERE id = 'a'"
        )
        try await scenario.replicating { [scenario] in try await scenario.caughtUpWithTables() }
        #expect(Self.copies(scenario) == 1)
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(
        arguments: [
            ("CLUSTER lists USING lists_pkey", "rewritten rows"),
            ("ALTER TABLE lists DROP CONSTRAINT lists_pkey, ADD PRIMARY KEY (name)", "replica identity"),
            (
                "CREATE TABLE root (LIKE lists) PARTITION BY LIST (id); ALTER TABLE root ATTACH PARTITION lists DEFAULT",
                "partitions, replica identity"
            ),
            ("ALTER TABLE lists RENAME TO old; CREATE TABLE lists (LIKE old INCLUDING ALL)", "another table"),
        ]
    )
    func theLogSaysWhyATableIsCopiedAgain(_ sql: String, _ reason: String) async throws {
        let scenario = try scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run(sql)
            try await scenario.caughtUpWithTables()
        }
        let line = try #require(scenario.log.lines.first { $0.contains("has another form") })
        #expect(line.contains("changed=\(reason) replication_stream=1 table=public.lists"))
        #expect(Self.copies(scenario) == 2)
    }

    /// An action may have been left out for a moment: the rows are read once more, and those that are the same give nothing.
    @Test func anotherFormOfThePublicationSendsWhatWasLeftOut() async throws {
        let scenario = try scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let copied = try #require(scenario.storage.feed.current)
            try scenario.database.run(
                "ALTER PUBLICATION powersync SET (publish = 'insert, update, delete, truncate')"
            )
            try await scenario.caughtUpWithTables()
            #expect(scenario.storage.feed.current?.opID == copied.opID)
            #expect(Self.copies(scenario) == 1)
            #expect(
                scenario.log.lines.contains { $0.contains("and kept") && $0.contains("changed=publication options") }
            )
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aCopyGoesOnWithoutAColumnThatNobodyReads() async throws {
        let scenario = try scenario()
        try scenario.database.run(
            "INSERT INTO lists (id, name) SELECT 'r' || lpad(n::text, 6, '0'), 'n' FROM generate_series(1, 25000) AS n"
        )
        var plan = try plan(scenario.config)
        plan.defaultSchema = PostgresSource.defaultSchema
        let table = try #require(try await scenario.source.tables(for: plan).first)
        var reader = try await scenario.source.snapshot(of: table, after: nil)
        var ids = try #require(try await reader.next()).rows.map { $0["id"] }
        try scenario.database.run(
            "SET LOCAL lock_timeout = '10s'; ALTER TABLE lists DROP size; ALTER TABLE lists ADD color text"
        )
        while let chunk = try await reader.next() {
            ids += chunk.rows.map { $0["id"] }
            #expect(chunk.rows.allSatisfy { $0["size"] == nil && $0["name"] != nil })
        }
        #expect(ids.count == 25_002 && Set(ids).count == ids.count)
    }
}

import Foundation
import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Replica identities with columns that are not replicated (docs/postgres.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresIdentityTests {
    private static let config = """
        config: {edition: 3}
        streams:
          all: {query: "SELECT tenant || '/' || raw AS id, name FROM lists"}
        """

    @Test(arguments: [
        "slug text GENERATED ALWAYS AS (lower(raw)) STORED, PRIMARY KEY (tenant, slug)",
        "slug text GENERATED ALWAYS AS (tenant || ':' || raw) STORED PRIMARY KEY",
    ])
    func aTableWhoseKeyIsGeneratedIsLeftOutUntilAllColumnsIdentifyItsRows(_ key: String) async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (tenant text, raw text, name text, \(key));
            INSERT INTO lists VALUES ('t', 'A', 'one'), ('t', 'B', 'one'), ('t', 'C', 'one')
            """,
            config: Self.config,
            catalogueInterval: .milliseconds(50)
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.rows().isEmpty)
            let warnings = scenario.log.lines.filter { $0.contains("public.lists") && $0.contains("(slug)") }
            #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("REPLICA IDENTITY USING INDEX") })
            // Its updates are refused from version 18 on.
            guard try scenario.database.serverVersion < 180_000 else { return }
            try scenario.database.run("ALTER TABLE lists REPLICA IDENTITY FULL")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["t/A", "t/B", "t/C"])
            try scenario.database.run(
                "UPDATE lists SET name = 'two' WHERE raw = 'A'; DELETE FROM lists WHERE raw = 'B'"
            )
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows().values.sorted() == [
                    #"{"id":"t/A","name":"two"}"#, #"{"id":"t/C","name":"one"}"#,
                ]
            )
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aTableOfWhoseKeyThePublicationLeavesOutAColumnIsLeftOut() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (tenant text, raw text, name text, PRIMARY KEY (tenant, raw));
            INSERT INTO lists VALUES ('t', 'A', 'one'), ('t', 'B', 'one')
            """,
            config: Self.config,
            catalogueInterval: .milliseconds(50)
        )
        guard try scenario.database.serverVersion >= 150_000 else { return }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["t/A", "t/B"])
            try scenario.database.run(
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists (tenant, name)"
            )
            _ = try await scenario.log.line(containing: "public.lists", "(raw)")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.rows().isEmpty)
            try scenario.database.run("ALTER PUBLICATION powersync SET TABLE lists")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["t/A", "t/B"])
        }
    }

    /// The operations of the one bucket after a checkpoint.
    private static func kinds(_ scenario: PostgresScenario, after opID: OpID) async throws -> [String] {
        let (stream, checkpoint) = (
            try #require(try await scenario.stream()), try #require(scenario.storage.feed.current)
        )
        return try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint)
            .filter { $0.opID > opID }.map { "\($0.kind) \($0.id)" }
    }

    @Test func thePrimaryKeyIsTheIdentity() async throws {
        let scenario = try PostgresScenario(
            "CREATE TABLE lists (id text PRIMARY KEY, name text); INSERT INTO lists VALUES ('a', '0'), ('b', '0')",
            catalogueInterval: .milliseconds(50)
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let copied = try #require(scenario.storage.feed.current)
            let stream = try await scenario.stream()?.id
            for identity in ["FULL", "DEFAULT", "FULL"] {
                try scenario.database.run("ALTER TABLE lists REPLICA IDENTITY \(identity)")
                try await scenario.caughtUpWithTables()
                // What is the same gives nothing, also behind a change of the identity.
                try scenario.database.run("UPDATE lists SET name = '0'")
                try await scenario.caughtUp()
            }
            #expect(scenario.storage.feed.current?.opID == copied.opID)
            #expect(try await scenario.stream()?.id == stream)
            for number in 1...100 { try scenario.database.run("UPDATE lists SET name = '\(number)' WHERE id = 'a'") }
            try await scenario.caughtUp()
            #expect(try await Self.kinds(scenario, after: copied.opID) == Array(repeating: "PUT a", count: 100))
            let updated = try #require(scenario.storage.feed.current)
            try scenario.database.run("UPDATE lists SET id = 'c' WHERE id = 'a'; DELETE FROM lists WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(try await Self.kinds(scenario, after: updated.opID) == ["REMOVE a", "PUT c", "REMOVE b"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// What a new device downloads after changes of rows and of the identity: the rows, and the changes.
    ///
    /// `POWERSYNC_ALL_CASES` makes 20,000 rows, and 200 changes.
    @Test func aNewDeviceDownloadsTheRowsAndTheirChanges() async throws {
        let scale = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] == nil ? 1 : 10
        let (rows, changes) = (2_000 * scale, 20 * scale)
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id int PRIMARY KEY, name text);
            INSERT INTO lists SELECT n, 'one' FROM generate_series(1, \(rows)) AS n
            """,
            catalogueInterval: .milliseconds(50)
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            for identity in ["FULL", "DEFAULT"] {
                for number in 1...(changes / 2) {
                    try scenario.database.run("UPDATE lists SET name = '\(identity) \(number)' WHERE id = \(number)")
                }
                try scenario.database.run("ALTER TABLE lists REPLICA IDENTITY \(identity)")
                try await scenario.caughtUpWithTables()
            }
            try await scenario.caughtUp()
            let operations = try await Self.kinds(scenario, after: .zero)
            #expect(operations.count == rows + changes)
            #expect(operations.allSatisfy { $0.hasPrefix("PUT") })
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    private static let slugs = """
        CREATE TABLE lists (id text PRIMARY KEY, slug text NOT NULL UNIQUE, name text);
        INSERT INTO lists VALUES ('a', 's-a', '0'), ('b', 's-b', '0'), ('c', 's-c', '0')
        """

    @Test func anIndexAsTheIdentityCopiesNothingAndSendsNothing() async throws {
        let scenario = try PostgresScenario(Self.slugs, catalogueInterval: .milliseconds(50))
        try await scenario.replicating {
            try await scenario.caughtUp()
            let copied = try #require(scenario.storage.feed.current)
            for identity in [
                "USING INDEX lists_slug_key", "FULL", "USING INDEX lists_slug_key", "DEFAULT", "USING INDEX lists_pkey",
            ] {
                try scenario.database.run("ALTER TABLE lists REPLICA IDENTITY \(identity)")
                try await scenario.caughtUpWithTables()
                try scenario.database.run("UPDATE lists SET name = '0'")
                try await scenario.caughtUp()
            }
            try scenario.database.run("ALTER TABLE lists REPLICA IDENTITY USING INDEX lists_slug_key")
            try await scenario.caughtUpWithTables()
            #expect(scenario.storage.feed.current?.opID == copied.opID)
            #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)

            // The primary key is the identity, also where the change stream does not tell it.
            for number in 1...20 { try scenario.database.run("UPDATE lists SET name = '\(number)' WHERE id = 'a'") }
            try await scenario.caughtUp()
            #expect(try await Self.kinds(scenario, after: copied.opID) == Array(repeating: "PUT a", count: 20))
            let updated = try #require(scenario.storage.feed.current)
            try scenario.database.run(
                "UPDATE lists SET id = 'd' WHERE id = 'a'; UPDATE lists SET slug = 's-x' WHERE id = 'b'; DELETE FROM lists WHERE id = 'c'"
            )
            try await scenario.caughtUp()
            #expect(try await Self.kinds(scenario, after: updated.opID) == ["REMOVE a", "PUT d", "PUT b", "REMOVE c"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: ["lists_slug_key", "lists_pkey"], [false, true])
    func rowsThatChangeWhileTheIdentityDoesAreRight(_ index: String, stops: Bool) async throws {
        var scenario = try PostgresScenario(Self.slugs, catalogueInterval: .milliseconds(50))
        let changes = """
            UPDATE lists SET id = 'd' WHERE id = 'a'; UPDATE lists SET slug = 's-x', name = '1' WHERE id = 'b';
            DELETE FROM lists WHERE id = 'c'; INSERT INTO lists VALUES ('a', 's-n', '2')
            """
        let statements = ["ALTER TABLE lists REPLICA IDENTITY USING INDEX \(index)", changes]
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            guard !stops else { return }
            for statement in statements { try scenario.database.run(statement) }
            try await scenario.caughtUpWithTables()
        }
        if stops {
            for statement in statements { try scenario.database.run(statement) }
            scenario = try scenario.reopened()
            try await scenario.replicating { [scenario] in try await scenario.caughtUpWithTables() }
        }
        #expect(
            try await scenario.rows() == [
                "lists/a": #"{"id":"a","slug":"s-n","name":"2"}"#, "lists/b": #"{"id":"b","slug":"s-x","name":"1"}"#,
                "lists/d": #"{"id":"d","slug":"s-a","name":"0"}"#,
            ]
        )
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func deferrableKeysDoNotTellRowsApart() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, name text);
            ALTER TABLE lists REPLICA IDENTITY FULL;
            INSERT INTO lists VALUES (1, 'one'), (2, 'two')
            """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("UPDATE lists SET id = 3 - id")
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows() == [
                    "lists/1": #"{"id":1,"name":"two"}"#, "lists/2": #"{"id":2,"name":"one"}"#,
                ]
            )
        }
    }
}

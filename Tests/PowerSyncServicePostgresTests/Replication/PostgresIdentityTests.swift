import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Replica identities with columns that are not replicated (docs/postgres.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresIdentityTests {
    private static let config = """
        config: {edition: 3}
        streams:
          all: {query: "SELECT tenant || '/' || raw AS id, name FROM lists"}
        """

    private static func version(of scenario: PostgresScenario) throws -> Int {
        let setting = try scenario.database.run("SHOW server_version_num").first?.first
        return try #require(setting.flatMap { $0.flatMap { Int($0) } })
    }

    @Test(
        "a table whose key is generated is left out, until all columns identify its rows",
        arguments: [
            "slug text GENERATED ALWAYS AS (lower(raw)) STORED, PRIMARY KEY (tenant, slug)",
            "slug text GENERATED ALWAYS AS (tenant || ':' || raw) STORED PRIMARY KEY",
        ]
    )
    func generated(_ key: String) async throws {
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
            guard try Self.version(of: scenario) < 180_000 else { return }
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
        guard try Self.version(of: scenario) >= 150_000 else { return }
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
}

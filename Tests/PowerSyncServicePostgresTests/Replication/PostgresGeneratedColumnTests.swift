import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Generated columns that a publication has, from PostgreSQL 18 on (docs/postgres.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresGeneratedColumnTests {
    private static let config = """
        config: {edition: 3}
        streams:
          all: {query: SELECT * FROM products}
          named: {query: "SELECT id, total FROM products"}
          costly: {query: "SELECT id FROM products WHERE total > 10"}
        """

    private static let products = """
        CREATE TABLE products (
            id text PRIMARY KEY, price int, total int GENERATED ALWAYS AS (price * 2) STORED,
            shown text GENERATED ALWAYS AS (price || ' EUR') VIRTUAL
        );
        INSERT INTO products VALUES ('a', 5), ('b', 6)
        """

    /// A scenario, if the server has what is tested.
    private func scenario(_ sql: String, config: String = Self.config) throws -> PostgresScenario? {
        guard try TestDatabase().serverVersion >= 180_000 else { return nil }
        return try PostgresScenario(sql, config: config, catalogueInterval: .milliseconds(50))
    }

    @Test func theyAreSyncedByNameAndUnderFromTheMomentOnInWhichThePublicationHasThem() async throws {
        guard let scenario = try scenario(Self.products) else { return }
        @Sendable func rows(_ bucket: String) async throws -> [String] {
            try await scenario.rows("\(bucket)|0[]").values.sorted()
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await rows("all") == [#"{"id":"a","price":5}"#, #"{"id":"b","price":6}"#])
            #expect(try await rows("named") == [#"{"id":"a"}"#, #"{"id":"b"}"#])
            #expect(try await rows("costly").isEmpty)

            try scenario.database.run("ALTER PUBLICATION powersync SET (publish_generated_columns = stored)")
            try await scenario.caughtUpWithTables()
            #expect(
                try await rows("all") == [#"{"id":"a","price":5,"total":10}"#, #"{"id":"b","price":6,"total":12}"#]
            )
            #expect(try await rows("named") == [#"{"id":"a","total":10}"#, #"{"id":"b","total":12}"#])
            #expect(try await rows("costly") == [#"{"id":"b"}"#])

            try scenario.database.run(
                "UPDATE products SET price = 7 WHERE id = 'a'; INSERT INTO products VALUES ('c', 1); DELETE FROM products WHERE id = 'b'"
            )
            try await scenario.caughtUp()
            #expect(
                try await rows("all") == [#"{"id":"a","price":7,"total":14}"#, #"{"id":"c","price":1,"total":2}"#]
            )
            #expect(try await rows("costly") == [#"{"id":"a"}"#])

            try scenario.database.run("ALTER PUBLICATION powersync SET (publish_generated_columns = none)")
            try await scenario.caughtUpWithTables()
            #expect(try await rows("all") == [#"{"id":"a","price":7}"#, #"{"id":"c","price":1}"#])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aListOfColumnsNamesThemWhateverTheOptionSays() async throws {
        guard let scenario = try scenario(Self.products) else { return }
        try scenario.database.run(
            "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE products (id, total)"
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("INSERT INTO products VALUES ('c', 1)")
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows().values.sorted() == [
                    #"{"id":"a","total":10}"#, #"{"id":"b","total":12}"#, #"{"id":"c","total":2}"#,
                ]
            )
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aTableWhoseKeyIsGeneratedIsSyncedWhenThePublicationHasTheKeyAsTheWarningSays() async throws {
        let created = try scenario(
            """
            CREATE TABLE lists (name text, slug text GENERATED ALWAYS AS (lower(name)) STORED PRIMARY KEY);
            INSERT INTO lists VALUES ('A'), ('B')
            """,
            config: #"{config: {edition: 3}, streams: {all: {query: "SELECT slug AS id, name FROM lists"}}}"#
        )
        guard let scenario = created else { return }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.rows().isEmpty)
            let remedy = "ALTER PUBLICATION powersync SET (publish_generated_columns = stored)"
            #expect(scenario.log.lines.contains { $0.contains("public.lists") && $0.contains(remedy) })
            try scenario.database.run(remedy)
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a", "b"])
            try scenario.database.run(
                "UPDATE lists SET name = 'C' WHERE slug = 'a'; DELETE FROM lists WHERE slug = 'b'"
            )
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["c"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }
}

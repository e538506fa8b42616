import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// What changes of tables do, while they are replicated and while they are not (docs/postgres.md "Changed tables").
@Suite(.timeLimit(.minutes(5))) struct PostgresTableTests {
    static let config = """
        config:
          edition: 3
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT * FROM "part_%"
        """

    struct Change: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql: [String]

        init(_ name: String, _ sql: String...) {
            testDescription = name
            self.sql = sql
        }

        static let all = [
            Change("a column", "ALTER TABLE lists ADD color text"),
            Change("a column with a constant", "ALTER TABLE lists ADD color text DEFAULT 'red'"),
            Change("a column with other values", "ALTER TABLE lists ADD number float DEFAULT random()"),
            Change("no column", "ALTER TABLE lists DROP name"),
            Change("a column again", "ALTER TABLE lists DROP name; ALTER TABLE lists ADD name text DEFAULT 'new'"),
            Change("another name", "ALTER TABLE lists RENAME name TO title"),
            Change(
                "another name and back",
                "ALTER TABLE lists RENAME name TO title",
                "ALTER TABLE lists RENAME title TO name"
            ),
            Change("another type", "ALTER TABLE lists ALTER name TYPE int USING length(name)"),
            Change("other values", "ALTER TABLE lists ALTER name TYPE text USING name || '!'"),
            Change("gone", "DROP TABLE lists"),
            Change("made again", "DROP TABLE lists; CREATE TABLE lists (id text PRIMARY KEY, name text)"),
            Change("renamed away", "ALTER TABLE lists RENAME TO other"),
            Change("renamed into its place", "ALTER TABLE lists RENAME TO old; ALTER TABLE spare RENAME TO lists"),
            Change("moved to another schema", "CREATE SCHEMA s; ALTER TABLE lists SET SCHEMA s"),
            Change("emptied", "TRUNCATE lists", "INSERT INTO lists VALUES ('t', 'after')"),
            Change("not logged", "ALTER TABLE lists SET UNLOGGED"),
            Change(
                "not logged for a while",
                "ALTER TABLE lists SET UNLOGGED",
                "INSERT INTO lists VALUES ('u', 'quiet'); DELETE FROM lists WHERE id = 'a'",
                "ALTER TABLE lists SET LOGGED"
            ),
            Change(
                "a full identity",
                "ALTER TABLE lists REPLICA IDENTITY FULL",
                "UPDATE lists SET name = 'full' WHERE id = 'a'"
            ),
            Change(
                "a full identity for a while",
                "ALTER TABLE lists REPLICA IDENTITY FULL",
                "UPDATE lists SET name = 'full' WHERE id = 'a'; DELETE FROM lists WHERE id = 'b'",
                "ALTER TABLE lists REPLICA IDENTITY DEFAULT",
                "UPDATE lists SET name = 'default' WHERE id = 'a'"
            ),
            Change(
                "identity by an index",
                "ALTER TABLE lists ALTER name SET NOT NULL; CREATE UNIQUE INDEX names ON lists (name)",
                "ALTER TABLE lists REPLICA IDENTITY USING INDEX names",
                "UPDATE lists SET name = 'other' WHERE id = 'a'; DELETE FROM lists WHERE id = 'b'"
            ),
            Change(
                "identity by an index for a while",
                "ALTER TABLE lists ALTER name SET NOT NULL; CREATE UNIQUE INDEX names ON lists (name)",
                "ALTER TABLE lists REPLICA IDENTITY USING INDEX names; DELETE FROM lists WHERE id = 'b'",
                "ALTER TABLE lists REPLICA IDENTITY DEFAULT"
            ),
            Change(
                "identity by an index that is gone again",
                "ALTER TABLE lists ALTER name SET NOT NULL; CREATE UNIQUE INDEX names ON lists (name)",
                "ALTER TABLE lists REPLICA IDENTITY USING INDEX names; UPDATE lists SET id = 'z' WHERE id = 'a'",
                "ALTER TABLE lists REPLICA IDENTITY DEFAULT; DROP INDEX names"
            ),
            Change(
                "a key that is generated",
                "ALTER TABLE lists DROP CONSTRAINT lists_pkey; "
                    + "ALTER TABLE lists ADD key text GENERATED ALWAYS AS (lower(id)) STORED PRIMARY KEY",
                // Refused from version 18 on.
                """
                DO $do$ BEGIN
                  UPDATE lists SET name = 'other' WHERE id = 'a'; DELETE FROM lists WHERE id = 'b';
                EXCEPTION WHEN OTHERS THEN NULL;
                END $do$
                """
            ),
            Change(
                "another key",
                "ALTER TABLE lists DROP CONSTRAINT lists_pkey; ALTER TABLE lists ADD PRIMARY KEY (id, name)",
                "UPDATE lists SET name = 'other' WHERE id = 'a'; DELETE FROM lists WHERE id = 'b'"
            ),
            Change(
                "a key with another name and back",
                "ALTER TABLE lists RENAME id TO key",
                "UPDATE lists SET name = 'between' WHERE key = 'a'; DELETE FROM lists WHERE key = 'b'",
                "ALTER TABLE lists RENAME key TO id"
            ),
            Change(
                "a key that is gone and made again, under FULL",
                """
                ALTER TABLE lists DROP CONSTRAINT lists_pkey; ALTER TABLE lists REPLICA IDENTITY FULL;
                INSERT INTO lists VALUES ('a', 'twin'); DELETE FROM lists WHERE name = 'twin';
                ALTER TABLE lists ADD PRIMARY KEY (id)
                """
            ),
            Change("rewritten as it is", "VACUUM FULL lists"),
            Change("a new table", "CREATE TABLE part_1 (id text PRIMARY KEY); INSERT INTO part_1 VALUES ('p')"),
            Change("a new table without rows", "CREATE TABLE part_1 (id text PRIMARY KEY)"),
            Change(
                "a publication with other tables",
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE spare",
                "INSERT INTO lists VALUES ('q', 'not published')",
                "ALTER PUBLICATION powersync ADD TABLE lists"
            ),
            Change(
                "a row filter",
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists WHERE (id < 'c')",
                "INSERT INTO lists VALUES ('aa', 'in'), ('zz', 'out')"
            ),
            Change(
                "a row filter for a while",
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists WHERE (id < 'c')",
                "INSERT INTO lists VALUES ('aa', 'in'), ('zz', 'out')",
                "ALTER PUBLICATION powersync SET TABLE lists",
                "UPDATE lists SET name = 'now'"
            ),
            Change(
                "a list of columns",
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists (id)",
                "INSERT INTO lists VALUES ('aa', 'in')"
            ),
            Change(
                "a generated column",
                "ALTER TABLE lists ADD size int GENERATED ALWAYS AS (length(name)) STORED",
                "UPDATE lists SET name = 'longer' WHERE id = 'a'"
            ),
            Change(
                "a generated column that is published for a while, from PostgreSQL 18 on",
                "ALTER TABLE lists ADD size int GENERATED ALWAYS AS (length(name)) STORED",
                publishGeneratedColumns("stored"),
                "UPDATE lists SET name = 'longer' WHERE id = 'a'",
                publishGeneratedColumns("none"),
                "INSERT INTO lists VALUES ('aa', 'new')"
            ),
            Change(
                "a child table",
                "CREATE TABLE child (extra text) INHERITS (lists)",
                "INSERT INTO child VALUES ('child', 'not in lists')"
            ),
        ]
    }

    private static func publishGeneratedColumns(_ which: String) -> String {
        """
        DO $$ BEGIN
            IF current_setting('server_version_num')::int >= 180000 THEN
                ALTER PUBLICATION powersync SET (publish_generated_columns = \(which));
            END IF;
        END $$
        """
    }

    private func scenario() throws -> PostgresScenario {
        try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, name text); INSERT INTO lists VALUES ('a', 'one'), ('b', 'two');
            CREATE TABLE spare (id text PRIMARY KEY, name text); INSERT INTO spare VALUES ('s', 'spare')
            """,
            config: Self.config,
            catalogueInterval: .milliseconds(50)
        )
    }

    @Test(arguments: Change.all)
    func whileTheyAreReplicated(_ change: Change) async throws {
        let scenario = try scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            for sql in change.sql { try scenario.database.run(sql) }
            try await scenario.caughtUpWithTables()
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: Change.all)
    func whileTheyAreReplicatedWithChangesBeforeAndAfter(_ change: Change) async throws {
        let scenario = try scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            _ = try? scenario.database.run(
                "UPDATE lists SET name = 'before ' || id; INSERT INTO lists VALUES ('c', 'before')"
            )
            for sql in change.sql { try scenario.database.run(sql) }
            // Of those that are still there and like that.
            _ = try? scenario.database.run("INSERT INTO lists (id) VALUES ('d')")
            _ = try? scenario.database.run("UPDATE lists SET name = 'after' WHERE id = 'a'")
            try await scenario.caughtUpWithTables()
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: Change.all)
    func whileTheyAreNotReplicated(_ change: Change) async throws {
        var scenario = try scenario()
        try await scenario.replicate()
        scenario = try scenario.reopened()
        _ = try? scenario.database.run(
            "UPDATE lists SET name = 'before ' || id; INSERT INTO lists VALUES ('c', 'before')"
        )
        for sql in change.sql { try scenario.database.run(sql) }
        _ = try? scenario.database.run("UPDATE lists SET name = 'after' WHERE id = 'a'")
        try await scenario.replicating { [scenario] in try await scenario.caughtUpWithTables() }
        try await scenario.expectSameRowsAsAFreshCopy()
    }
}

import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// The command `generate swift` with the tables of a PostgreSQL database (docs/generate.md "Where the tables are").
@Suite(.timeLimit(.minutes(3))) struct GenerateFromPostgresTests {
    private static let tables = """
        CREATE TYPE print_state AS ENUM ('new', 'done');
        CREATE DOMAIN score AS integer CHECK (VALUE >= 0);
        CREATE DOMAIN rating AS score NOT NULL;
        CREATE TABLE lists (id uuid PRIMARY KEY, owner text NOT NULL);
        CREATE TABLE items (
            id uuid PRIMARY KEY, list_id uuid NOT NULL, title text NOT NULL, position int NOT NULL, done bool NOT NULL,
            made_at timestamptz NOT NULL, due timestamp, day date, attributes jsonb, price numeric(10, 2), cost money,
            tags text[] NOT NULL, sizes int[], state print_state NOT NULL, rating rating, weight float8, photo bytea,
            span interval, place point, label text GENERATED ALWAYS AS (title || '!') STORED
        );
        """
    private static let syncConfig = """
        config: {edition: 3}
        streams:
          lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner = auth.user_id()}
          items:
            query: >-
              SELECT * FROM items
              WHERE list_id = subscription.parameter('list') AND position = subscription.parameter('position')
        """

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write("sync.yaml", Self.syncConfig)
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
    }

    /// A service configuration whose source is `PS_URI`.
    private func writeConfiguration(_ syncConfig: String = "{path: sync.yaml}", more: String = "") throws {
        try write(
            "powersync.yaml",
            """
            replication: {connections: [{type: postgresql, uri: !env PS_URI\(more)}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: \(syncConfig)
            """
        )
    }

    private func run(
        _ arguments: String...,
        uri: String = "",
        variables: [String: String] = [:]
    ) async throws -> CommandRun {
        try await CommandRun(
            ["generate", "swift"] + arguments,
            in: folder,
            environment: variables.merging(["PS_URI": uri]) { $1 }
        )
    }

    /// The URI of a database, without TLS.
    private func uri(_ database: TestDatabase) -> String { "\(database.uri)?sslmode=disable" }

    @Test func typesAreThoseThatClientsGet() async throws {
        let database = try TestDatabase(Self.tables)
        let output = ["--output", "SyncedFromPostgres.swift", "--namespace", "SyncedFromPostgres", "--dates"]
        let run = try await CommandRun(
            ["generate", "swift", "sync.yaml", "--source", uri(database)] + output,
            in: folder
        )
        #expect(run.status == 0, "\(run)")
        // Compiled with these tests; from another database, with another address, it is the same.
        let expected = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "SyncedFromPostgres.swift")
        let expectedText = try String(contentsOf: expected, encoding: .utf8)
        #expect(try String(contentsOfFile: folder.path("SyncedFromPostgres.swift"), encoding: .utf8) == expectedText)
    }

    @Test
    func generatedColumnsThatThePublicationHasFromPostgreSQL18On() async throws {
        let database = try TestDatabase(Self.tables)
        guard try database.serverVersion >= 180_000 else { return }
        try database.run("ALTER PUBLICATION powersync SET (publish_generated_columns = stored)")
        let run = try await CommandRun(["generate", "swift", "sync.yaml", "--source", uri(database)], in: folder)
        #expect(run.status == 0, "\(run)")
        #expect(run.text.contains(#".text("label")"#), "\(run)")
    }

    @Test func aFileIsCheckedWithAnExitCodeForEachOutcome() async throws {
        let database = try TestDatabase(Self.tables)
        try writeConfiguration(more: ", sslmode: disable")
        let written = try await run("--output", "Synced.swift", uri: database.uri)
        #expect(written.status == 0 && written.text.isEmpty, "\(written)")
        let same = try await run("--output", "Synced.swift", "--check", uri: database.uri)
        #expect(same.status == 0 && same.text.isEmpty, "\(same)")

        try database.run("ALTER TABLE lists ADD COLUMN size bigint")
        let changed = try await run("--output", "Synced.swift", "--check", uri: database.uri)
        #expect(changed.status == 1, "\(changed)")
        #expect(changed.text.contains("sync.yaml and powersync.yaml give; line "))
        #expect(changed.text.contains("+                 .integer(\"size\"),"))

        let unreachable = try await run(
            "--output",
            "Synced.swift",
            "--check",
            uri: "postgresql://me:hunter2@127.0.0.1:1/app"
        )
        #expect(unreachable.status == 2, "\(unreachable)")
        #expect(unreachable.errors.contains("the tables of PostgreSQL app at 127.0.0.1:1 as me cannot be read."))
        #expect(unreachable.errors.contains("Check hostname and port"))
        #expect(!unreachable.errors.contains("hunter2"))
        // Nothing of the service was made.
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path(""))
        #expect(Set(files) == ["Synced.swift", "powersync.yaml", "sync.yaml"])
    }

    @Test func aSyncConfigInTheServiceConfigurationAndInTheEnvironment() async throws {
        let database = try TestDatabase(Self.tables)
        let streams = "{config: {edition: 3}, streams: {all: {query: SELECT * FROM lists}}}"
        try writeConfiguration("{content: '\(streams)'}", more: ", sslmode: disable")
        let inline = try await run("--config", "powersync.yaml", uri: database.uri)
        #expect(inline.status == 0, "\(inline)")
        #expect(inline.text.hasPrefix("// Generated from powersync.yaml. Do not edit"))
        #expect(inline.text.contains("//   powersync generate swift --config powersync.yaml\n"))
        #expect(inline.text.contains("struct ListsRow") && !inline.text.contains("struct ItemsRow"))

        // One that is named counts more, and the source stays.
        let named = try await run("sync.yaml", uri: database.uri)
        #expect(
            named.text.hasPrefix("// Generated from sync.yaml and powersync.yaml.") && named.text.contains("ItemsRow")
        )

        let encoded = Data(streams.replacing("all:", with: "other:").utf8).base64EncodedString()
        let variables = ["POWERSYNC_SYNC_CONFIG_B64": encoded]
        let fromVariable = try await run(uri: database.uri, variables: variables)
        #expect(fromVariable.text.hasPrefix("// Generated from POWERSYNC_SYNC_CONFIG_B64 and powersync.yaml."))
        #expect(fromVariable.text.contains("func other("))
    }

    @Test func columnsThatAreNotPublishedAreNotInTheCode() async throws {
        let database = try TestDatabase(Self.tables)
        try database.run("DROP PUBLICATION powersync; CREATE PUBLICATION few FOR TABLE lists (id)")
        try writeConfiguration(more: ", sslmode: disable, publication: few")
        let run = try await run(uri: database.uri)
        #expect(run.status == 0, "\(run)")
        #expect(!run.text.contains("owner"))
        // A table that is not published at all has what it will have.
        #expect(run.text.contains("var madeAt: String"))
        #expect(run.errors.contains("warning: public.items is not in publication few: its rows are not synced."))
        #expect(run.errors.contains("ALTER PUBLICATION few ADD TABLE public.items;"))
    }

    @Test func aTableThatIsNotThereIsNamed() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id uuid PRIMARY KEY, owner text NOT NULL)")
        try database.run("CREATE VIEW items AS SELECT id, id AS list_id, 1 AS position FROM lists")
        try writeConfiguration(more: ", sslmode: disable")
        let run = try await run("--output", "Synced.swift", uri: database.uri)
        #expect(run.status == 1, "\(run)")
        #expect(run.errors.contains("error: PostgreSQL \(database.name) at "))
        #expect(run.errors.contains("has no table 'items', which the sync config reads. Create it there, or correct"))
        #expect(run.errors.contains("warning: public.items is a view: it has no changes of its own"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("Synced.swift")))
    }

    @Test func whatARoleMayNotReadIsAWarningAndWhereItMayNotConnectIsAnError() async throws {
        let database = try TestDatabase(Self.tables)
        let role = "role_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN")
        defer { _ = try? database.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        try writeConfiguration(more: ", sslmode: disable, username: \(role)")
        let poor = try await run(uri: database.uri)
        #expect(poor.status == 0 && poor.text.contains("var title: String"), "\(poor)")
        #expect(
            poor.errors.contains(
                "warning: Role \(role) may not read public.lists. GRANT SELECT ON public.lists TO \(role); [PSYNC_S1147]"
            )
        )
        try database.run("REVOKE CONNECT ON DATABASE \(database.name) FROM PUBLIC")
        let refused = try await run(uri: database.uri)
        #expect(refused.status == 2 && refused.text.isEmpty, "\(refused)")
        #expect(refused.errors.contains("permission denied for database"))
        #expect(refused.errors.contains("GRANT CONNECT ON DATABASE name TO role;"))
    }

    @Test func aDatabaseThatIsNotThereIsNotTakenForAServerThatIsNotThere() async throws {
        let database = try TestDatabase(Self.tables)
        let other = uri(database).replacing(database.name, with: "nowhere_\(database.name)")
        let run = try await run("sync.yaml", "--source", other)
        #expect(run.status == 2, "\(run)")
        #expect(run.errors.contains("Check username and the name of the database; names are case sensitive."))
    }

    @Test func whereTheTablesAreIsSaidOnce() async throws {
        let none = try await run("sync.yaml")
        #expect(
            none.status == 64 && none.errors.contains("There is no powersync.yaml with a sync config and a source.")
        )
        let both = try await run("sync.yaml", "--schema", "schema.sql", "--source", "postgresql://me@h/app")
        #expect(both.status == 64 && both.errors.contains("--schema and --source both have the tables"))
        let noFile = try await run("sync.yaml", "--source", "app.db")
        #expect(noFile.status == 1, "\(noFile)")
        #expect(noFile.errors.contains("cannot read the source app.db: there is no such file"), "\(noFile)")
    }
}

import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres
import PowerSyncServiceCore
import Testing

/// The check against a server (docs/postgres.md "Checking a server").
@Suite(.timeLimit(.minutes(1))) struct ServerCheckTests {
    private func findings(
        _ database: TestDatabase,
        as role: String? = nil,
        publication: String = "powersync",
        config queries: String
    ) async throws -> [Finding] {
        let yaml = "config: {edition: 3}\nstreams:\n  s: {queries: [\(queries)]}"
        let plan = try #require(SyncConfig.parse(yaml).plan)
        var keywords = try #require(database.connectionString.keywords)
        if let role { keywords.append((name: "user", value: role)) }
        let connection = try await PostgresConnection.open(PostgresConnectionString(keywords: keywords))
        defer { connection.close() }
        let check = PostgresCheck(publication: publication, slotNamePrefix: "\(database.name)_")
        return try await check.findings(on: connection, plan: plan, text: (yaml, "sync.yaml")).filter { finding in
            // Other tests use slots of the same server.
            !finding.message.contains("max_replication_slots") && !finding.message.contains("max_wal_senders")
        }
    }

    @Test func aServerThatIsRightHasNoFindings() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        #expect(try await findings(database, config: "SELECT * FROM lists") == [])
    }

    @Test func tablesThatCannotBeReplicatedAreNamed() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE nokey (id text); CREATE UNLOGGED TABLE unlogged (id text PRIMARY KEY);
            CREATE TABLE "Full" (id text); ALTER TABLE "Full" REPLICA IDENTITY FULL;
            CREATE TABLE slugs (name text, slug text GENERATED ALWAYS AS (lower(name)) STORED, PRIMARY KEY (name, slug));
            CREATE TABLE full_slugs (LIKE slugs INCLUDING ALL); ALTER TABLE full_slugs REPLICA IDENTITY FULL;
            CREATE TABLE orders (id int PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (1) TO (10);
            CREATE VIEW names AS SELECT * FROM nokey;
            CREATE SCHEMA other; CREATE TABLE other.lists (id text PRIMARY KEY);
            """
        )
        let findings = try await findings(
            database,
            config: """
                SELECT * FROM nokey, SELECT * FROM unlogged, 'SELECT * FROM "Full"', SELECT * FROM orders, 'SELECT * FROM "orders_%"', \
                SELECT * FROM names, SELECT * FROM other.lists, SELECT * FROM slugs, SELECT * FROM full_slugs, \
                SELECT * FROM missing
                """
        )
        // From PostgreSQL 18 on, rows of a table with a generated column that is left out cannot be changed.
        let refused =
            try database.serverVersion >= 180_000
            ? [
                "The replica identity of public.full_slugs has generated columns that publication powersync leaves out (slug)"
            ]
            : []
        #expect(
            findings.map { $0.place.location ?? String($0.message.prefix { $0 != "," && $0 != ":" }) } == [
                "public.nokey has no primary key", "public.unlogged is unlogged",
                "public.orders_1 is a partition of public.orders",
                "public.names is a view",
                "The replica identity of public.slugs has columns that are not replicated (slug)",
            ] + refused + [
                // Rows of two tables have no id, and one table is not there.
                "sync.yaml", "sync.yaml", "sync.yaml",
            ]
        )
        #expect(findings.allSatisfy { $0.severity == .warning })
        #expect(findings.last?.message.hasSuffix("The source has no table “missing”.") == true)
    }

    @Test func namesThatNeedDoubleQuotesAndColumnsThatAreNotThereAreFoundWithWhatWasMeant() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE "Project" (id uuid PRIMARY KEY, "ownerId" text); CREATE TABLE lists (id text PRIMARY KEY, name text);
            CREATE VIEW shown AS SELECT * FROM lists
            """
        )
        let findings = try await findings(
            database,
            config: """
                SELECT * FROM Project WHERE ownerId = auth.user_id(), \
                'SELECT * FROM "Project" WHERE ownerId = auth.user_id()', SELECT id FROM lists WHERE nmae = auth.user_id(), \
                SELECT nothing FROM shown
                """
        ).filter { $0.place.location == "sync.yaml" && $0.place.line == 3 }
        let texts = findings.map { "\($0.message) \($0.remedy ?? "")" }
        func expect(_ parts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(
                texts.contains { text in parts.allSatisfy(text.contains) },
                "\(texts)",
                sourceLocation: sourceLocation
            )
        }
        expect("no table “project”", #"write "Project""#)
        expect("“Project” has no column “ownerid”", #"write "ownerId""#)
        expect("“lists” has no column “nmae”", "Did you mean “name”?")
        expect("“shown” has no column “nothing”")
        #expect(Set(findings.map(\.place.description)).count == findings.count)
    }

    @Test func aTableThatIsPublishedWithoutIdentityAndWhatMakesItOne() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE lists (id text PRIMARY KEY); CREATE TABLE audit_log (at timestamptz, what text);
            CREATE TABLE members (list text NOT NULL, member text NOT NULL, note text, UNIQUE (list, member));
            CREATE TABLE half (list text NOT NULL, member text); CREATE UNIQUE INDEX ON half (list, member);
            CREATE TABLE later (list text NOT NULL UNIQUE DEFERRABLE);
            CREATE TABLE few (list text NOT NULL); CREATE UNIQUE INDEX ON few (list) WHERE list > 'a';
            CREATE TABLE ignored (id text PRIMARY KEY); ALTER TABLE ignored REPLICA IDENTITY NOTHING;
            """
        )
        let config = "SELECT * FROM lists"
        let findings = try await findings(database, config: config)
        let names = findings.compactMap { $0.place.table?.name }
        #expect(names.sorted() == ["audit_log", "few", "half", "ignored", "later", "members"])
        #expect(findings.allSatisfy { $0.severity == .warning && $0.message.contains("updates and deletes") })
        func remedy(_ table: String) -> String { findings.first { $0.place.table?.name == table }?.remedy ?? "" }
        let mending = [
            "members": "ALTER TABLE public.members REPLICA IDENTITY USING INDEX members_list_member_key;",
            "ignored": "ALTER TABLE public.ignored REPLICA IDENTITY DEFAULT;",
        ]
        for (table, statement) in mending {
            #expect(remedy(table).hasPrefix(statement))
            try database.run(statement)
        }
        for table in ["audit_log", "half", "later", "few"] {
            let statement = "ALTER TABLE public.\(table) REPLICA IDENTITY FULL;"
            #expect(remedy(table).hasPrefix("ALTER TABLE public.\(table) ADD PRIMARY KEY (…); or \(statement)"))
            try database.run(statement)
        }
        #expect(try await self.findings(database, config: config) == [])
    }

    /// The server says `replica identity must not contain unpublished generated columns`.
    @Test func changesThatTheServerRefusesBecauseOfGeneratedColumnsAreNamedWithTheWayOut() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE goods (id text PRIMARY KEY, price int, total int GENERATED ALWAYS AS (price * 2) STORED);
            CREATE TABLE keyless (price int, total int GENERATED ALWAYS AS (price * 2) STORED);
            ALTER TABLE goods REPLICA IDENTITY FULL; ALTER TABLE keyless REPLICA IDENTITY FULL;
            INSERT INTO goods VALUES ('a', 1); INSERT INTO keyless VALUES (1)
            """
        )
        let config = "SELECT * FROM goods, SELECT price AS id FROM keyless"
        guard try database.serverVersion >= 180_000 else {
            #expect(try await findings(database, config: config) == [])
            try database.run("UPDATE goods SET price = 2; UPDATE keyless SET price = 2")
            return
        }
        try database.run(
            """
            CREATE TABLE shown (id text PRIMARY KEY, price int, label text GENERATED ALWAYS AS (price || ' EUR') VIRTUAL);
            ALTER TABLE shown REPLICA IDENTITY FULL; INSERT INTO shown VALUES ('a', 1)
            """
        )
        let found = try await findings(database, config: config)
        #expect(found.map(\.place.table?.name) == ["goods", "keyless", "shown"])
        let publish = "ALTER PUBLICATION powersync SET (publish_generated_columns = stored);"
        let useKey = "REPLICA IDENTITY USING INDEX"
        #expect(
            found.map(\.remedy) == [
                "\(publish) or ALTER TABLE public.goods \(useKey) goods_pkey;",
                "\(publish) or ALTER TABLE public.keyless ADD PRIMARY KEY (…); with columns that are not generated, and "
                    + "ALTER TABLE public.keyless REPLICA IDENTITY DEFAULT;",
                "ALTER TABLE public.shown \(useKey) shown_pkey;",
            ]
        )
        for table in ["goods", "keyless", "shown"] {
            #expect(throws: (any Error).self) { try database.run("UPDATE \(table) SET price = 2") }
        }
        // One way, the other one, and both together.
        try database.run("ALTER TABLE public.goods \(useKey) goods_pkey; UPDATE goods SET price = 2")
        #expect(try await findings(database, config: config).map(\.place.table?.name) == ["keyless", "shown"])
        try database.run("ALTER TABLE public.goods REPLICA IDENTITY FULL; \(publish)")
        try database.run("UPDATE goods SET price = 3; UPDATE keyless SET price = 3; DELETE FROM keyless")
        #expect(try await findings(database, config: config).map(\.place.table?.name) == ["shown"])
        try database.run("ALTER TABLE public.shown \(useKey) shown_pkey; UPDATE shown SET price = 3")
        #expect(try await findings(database, config: config) == [])
    }

    @Test func aLockThatLastsIsNamedWithWhoHasIt() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let config = "SELECT * FROM lists"
        let session = try database.connect()
        try session.run("SET application_name TO 'migration'; BEGIN; LOCK TABLE lists IN ACCESS EXCLUSIVE MODE")
        // A short one is not worth it.
        #expect(try await findings(database, config: config) == [])
        try session.run("SELECT pg_sleep(6)")
        let finding = try #require(try await findings(database, config: config).first)
        #expect(finding.message.hasPrefix("public.lists is locked by process "))
        #expect(finding.message.contains("application migration"))
        #expect(finding.message.contains("open for "))
        let remedy = try #require(finding.remedy)
        #expect(remedy.hasPrefix("SELECT pg_terminate_backend("))
        try database.run(remedy)
        #expect(try await findings(database, config: config) == [])
    }

    @Test func publicationsAreChecked() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE a (id text PRIMARY KEY); CREATE TABLE b (id text PRIMARY KEY);
            CREATE PUBLICATION half FOR TABLE a WITH (publish = 'insert, delete', publish_via_partition_root = true);
            """
        )
        let findings = try await findings(database, publication: "half", config: "SELECT * FROM a, SELECT * FROM b")
        #expect(findings.map { $0.code?.rawValue } == ["PSYNC_S1142", "PSYNC_S1143", nil])
        #expect(findings.last?.remedy == "ALTER PUBLICATION half ADD TABLE public.b;")
        // What mends it, mends it.
        for remedy in findings.compactMap(\.remedy) { try database.run(remedy) }
        #expect(
            try await self.findings(database, publication: "half", config: "SELECT * FROM a, SELECT * FROM b") == []
        )
        let missing = try await self.findings(database, publication: "My own", config: "SELECT * FROM a")
        #expect(missing.first?.code == .publicationMissing)
        try database.run(try #require(missing.first?.remedy))
        #expect(try await self.findings(database, publication: "My own", config: "SELECT * FROM a") == [])
    }

    @Test func slotsThatEndWhenNobodyHasReadThemForLessThanADayAreWarnedOfFromPostgreSQL18On() async throws {
        guard try TestDatabase().serverVersion >= 180_000 else { return }
        let cluster = try TestCluster()
        let database = try TestDatabase(server: cluster.uri, "CREATE TABLE lists (id text PRIMARY KEY)")
        for (timeout, words) in [("0", nil), ("23h", "idle_replication_slot_timeout is 82800 s"), ("1d", nil)] {
            try cluster.set("idle_replication_slot_timeout", to: timeout)
            try database.disconnect()
            let findings = try await findings(database, config: "SELECT * FROM lists")
            #expect(findings.count == (words == nil ? 0 : 1), "\(timeout): \(findings)")
            guard let words, let finding = findings.first else { continue }
            #expect(finding.message.hasPrefix(words))
            #expect(finding.severity == .warning)
            for statement in try #require(finding.remedy).split(separator: ";") {
                try Session(cluster.uri).run(String(statement))
            }
            #expect(try await self.findings(database, config: "SELECT * FROM lists") == [])
        }
    }

    @Test func privilegesAreChecked() async throws {
        let database = try TestDatabase(
            """
            CREATE SCHEMA "Hidden"; CREATE TABLE "Hidden".lists (id text PRIMARY KEY);
            CREATE TABLE policies (id text PRIMARY KEY, owner text); ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
            """
        )
        let role = "role_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN; GRANT SELECT ON policies TO \(role)")
        defer { _ = try? database.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        let config = #"'SELECT * FROM "Hidden".lists', SELECT * FROM policies"#
        let findings = try await findings(database, as: role, config: config)
        #expect(findings.map { $0.code?.rawValue } == ["PSYNC_S1147", "PSYNC_S1147", "PSYNC_S1145"])
        #expect(findings.map(\.severity) == [.error, .error, .warning])
        for remedy in findings.compactMap(\.remedy) { try database.run(remedy) }
        #expect(try await self.findings(database, as: role, config: config) == [])
    }
}

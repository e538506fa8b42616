import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres
import PowerSyncServiceCore
import Testing

/// What is said about a server (docs/postgres.md "Checking a server").
@Suite struct PostgresCheckTests {
    private let check = PostgresCheck(publication: "powersync", slotNamePrefix: "powersync_")

    /// A server on which everything is right.
    private static let server: [String?] = [
        "150004", "logical", "f", "10", "1", "0", nil, "10", "1", "-1", "Sync", "t", "t", "f", "app", "f", "f",
        nil,
    ]
    private static let publication: [String?] = ["t", "t", "t", "t", "t", "false"]

    private static func table(
        _ name: String,
        schema: String = "public",
        kind: String = "r",
        persistence: String = "p",
        identity: Bool = true,
        rowSecurity: Bool = false,
        published: Bool = true,
        readable: Bool = true,
        usable: Bool = true,
        unreplicatedKey: String? = nil,
        uniqueIndex: String? = nil,
        ignoresPrimaryKey: Bool = false,
        refusedColumns: String? = nil,
        virtual: Bool = false,
        partitionOf: String? = nil,
        viaRoot: Bool = false
    ) -> [String?] {
        func flag(_ value: Bool) -> String { value ? "t" : "f" }
        return [
            schema, name, kind, persistence, flag(identity), flag(rowSecurity), flag(published), flag(readable),
            flag(usable), unreplicatedKey, uniqueIndex, flag(ignoresPrimaryKey), refusedColumns, flag(virtual),
            partitionOf.map { #"[["7","public","\#($0)"]]"# }, flag(viaRoot), flag(viaRoot && partitionOf != nil),
        ]
    }

    private func findings(
        server changes: [Int: String?] = [:],
        publication: [String?]? = publication,
        tables: [[String?]] = [],
        config: String? = nil
    ) throws -> [Finding] {
        var server = Self.server
        for (position, value) in changes { server[position] = value }
        return try check.findings(
            server: [server],
            publication: publication.map { [$0] } ?? [],
            tables: tables,
            plan: try config.map { try plan($0) }
        )
    }

    private func plan(_ queries: String) throws -> SyncPlan {
        let yaml = "config: {edition: 3}\nstreams:\n  s: {queries: [\(queries)]}"
        return try #require(SyncConfig.parse(yaml).plan)
    }

    @Test func aServerThatIsRightHasNoFindings() throws {
        #expect(try findings(tables: [Self.table("lists")], config: "SELECT * FROM lists") == [])
        #expect(try findings(tables: [Self.table("lists")]) == [])
    }

    struct Case: CustomTestStringConvertible {
        var name: String
        var changes: [Int: String?]
        var severity = Finding.Severity.error
        var code: String
        var message: String
        var remedy: String?

        var testDescription: String { name }
    }

    static let serverCases = [
        Case(
            name: "version",
            changes: [0: "130012"],
            code: "PSYNC_S1144",
            message: "PostgreSQL 13.12 is too old: version 14 is needed.",
            remedy: "Upgrade the server with pg_upgrade, or replicate one that is newer."
        ),
        Case(
            name: "standby",
            changes: [2: "t"],
            code: "PSYNC_S1144",
            message: "The server is a standby",
            remedy: "Connect to the primary."
        ),
        Case(
            name: "wal_level",
            changes: [1: "replica"],
            code: "PSYNC_S1144",
            message: "wal_level is replica",
            remedy: "ALTER SYSTEM SET wal_level = logical; then restart the server."
        ),
        Case(
            name: "wal_level of RDS",
            changes: [1: "replica", 15: "t"],
            code: "PSYNC_S1144",
            message: "wal_level is replica",
            remedy: "Set rds.logical_replication = 1 in the parameter group, and restart the server."
        ),
        Case(
            name: "wal_level of Cloud SQL",
            changes: [1: "replica", 16: "t"],
            code: "PSYNC_S1144",
            message: "wal_level is replica",
            remedy: "Set the flag cloudsql.logical_decoding = on, and restart the server."
        ),
        Case(
            name: "replication",
            changes: [11: "f"],
            code: "PSYNC_S1147",
            message: "Role Sync may not replicate.",
            remedy: #"ALTER ROLE "Sync" REPLICATION;"#
        ),
        Case(
            name: "replication of RDS",
            changes: [11: "f", 15: "t"],
            code: "PSYNC_S1147",
            message: "Role Sync may not replicate.",
            remedy: #"GRANT rds_replication TO "Sync";"#
        ),
        Case(
            name: "no slot",
            changes: [4: "10"],
            code: "PSYNC_S1144",
            message: "All 10 replication slots (max_replication_slots) are in use",
            remedy: "ALTER SYSTEM SET max_replication_slots = 20; then restart the server."
        ),
        Case(
            name: "one slot",
            changes: [4: "9"],
            severity: .warning,
            code: "PSYNC_S1144",
            message: "Only 1 of 10 replication slots (max_replication_slots) are free",
            remedy: "ALTER SYSTEM SET max_replication_slots = 20; then restart the server."
        ),
        Case(
            name: "one slot, and it is ours",
            changes: [4: "10", 5: "1"],
            severity: .warning,
            code: "PSYNC_S1144",
            message: "Only 0 of 10 replication slots",
            remedy: "ALTER SYSTEM SET max_replication_slots = 20; then restart the server."
        ),
        Case(
            name: "no sender",
            changes: [8: "10"],
            code: "PSYNC_S1144",
            message: "All 10 senders (max_wal_senders) are in use",
            remedy: "ALTER SYSTEM SET max_wal_senders = 20; then restart the server."
        ),
        Case(
            name: "lost slot",
            changes: [5: "1", 6: "powersync_a"],
            severity: .warning,
            code: "PSYNC_S1146",
            message: "needs: all tables are copied again",
            remedy: "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();"
        ),
        Case(
            name: "small log",
            changes: [9: "64"],
            severity: .warning,
            code: "PSYNC_S1146",
            message: "max_slot_wal_keep_size is 64 MB",
            remedy: "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();"
        ),
        Case(
            name: "idle slots",
            changes: [17: "86399"],
            severity: .warning,
            code: "PSYNC_S1146",
            message: "idle_replication_slot_timeout is 86399 s",
            remedy: "ALTER SYSTEM SET idle_replication_slot_timeout = '3d'; SELECT pg_reload_conf();"
        ),
    ]

    @Test(arguments: serverCases)
    func settingsOfTheServer(_ example: Case) throws {
        let findings = try findings(server: example.changes)
        #expect(findings.count == 1)
        let finding = try #require(findings.first)
        #expect(finding.severity == example.severity)
        #expect(finding.code?.rawValue == example.code)
        #expect(finding.message.contains(example.message), "\(finding)")
        #expect(finding.remedy == example.remedy)
    }

    @Test func whatIsEnoughIsNoFinding() throws {
        #expect(try findings(server: [9: "1024"]) == [])
        #expect(try findings(server: [9: nil]) == [])
        #expect(try findings(server: [4: "8"]) == [])
    }

    @Test func aMissingPublicationIsAnError() throws {
        let finding = try #require(try findings(publication: nil).first)
        #expect(finding.code?.rawValue == "PSYNC_S1141")
        #expect(finding.message == "The database has no publication powersync.")
        // One FOR ALL TABLES makes the server refuse updates of tables without an identity.
        #expect(
            finding.remedy == "CREATE PUBLICATION powersync FOR TABLE …; with the tables that the sync config reads"
        )
        let tables = [Self.table("Lists"), Self.table("todos"), Self.table("other"), Self.table("names", kind: "v")]
        let config = #"'SELECT * FROM "Lists"', SELECT * FROM todos, SELECT * FROM names"#
        let named = try #require(try findings(publication: nil, tables: tables, config: config).first)
        #expect(named.remedy == #"CREATE PUBLICATION powersync FOR TABLE public."Lists", public.todos;"#)
    }

    @Test(
        arguments: [
            (
                table("log", identity: false),
                "ALTER TABLE public.log ADD PRIMARY KEY (…); or ALTER TABLE public.log REPLICA IDENTITY FULL;"
            ),
            (
                table("log", identity: false, uniqueIndex: "Key"),
                #"ALTER TABLE public.log REPLICA IDENTITY USING INDEX "Key";"#
            ),
            (
                table("log", identity: false, uniqueIndex: "k", ignoresPrimaryKey: true),
                "ALTER TABLE public.log REPLICA IDENTITY DEFAULT;"
            ),
        ] as [([String?], String)]
    )
    func publishedTablesWithoutIdentity(table: [String?], remedy: String) throws {
        let read = try findings(tables: [table], config: "SELECT * FROM log")
        #expect(read.map(\.remedy) == [remedy])
        let other = try findings(tables: [table, Self.table("lists")], config: "SELECT * FROM lists")
        #expect(other.map(\.severity) == [.warning])
        #expect(
            other.first?.message.hasPrefix("public.log is in publication powersync and has no replica identity") == true
        )
        #expect(other.first?.remedy?.hasPrefix(remedy) == true)
        var quiet = table
        quiet[6] = "f"
        #expect(try findings(tables: [quiet, Self.table("lists")], config: "SELECT * FROM lists") == [])
    }

    @Test func aPublicationMustPublishEverything() throws {
        let finding = try #require(try findings(publication: ["t", "t", "f", "t", "f", "false"]).first)
        #expect(finding.code?.rawValue == "PSYNC_S1142")
        #expect(finding.message.contains("leaves out update, truncate"))
        #expect(
            finding.remedy
                == "ALTER PUBLICATION powersync SET (publish = 'insert, update, delete, truncate');"
        )
    }

    @Test func aPublicationThatPublishesPartitionsAsTheirRootHasAWarning() throws {
        let finding = try #require(try findings(publication: ["t", "t", "t", "t", "t", "true"]).first)
        #expect(finding.severity == .warning)
        #expect(finding.code?.rawValue == "PSYNC_S1143")
        #expect(finding.remedy == "ALTER PUBLICATION powersync SET (publish_via_partition_root = false);")
    }

    @Test func partitionsAreCheckedUnderTheNameOfTheirTable() throws {
        let tables = [
            Self.table("orders", kind: "p", identity: false), Self.table("orders_1", partitionOf: "orders"),
            Self.table("orders_2", identity: false, partitionOf: "orders"),
            Self.table("orders_3", readable: false, partitionOf: "orders"), Self.table("other", kind: "p"),
        ]
        #expect(
            try findings(tables: tables, config: "SELECT * FROM orders, SELECT * FROM orders_1").map(\.message) == [
                "Role Sync may not read public.orders_3.",
                "public.orders_1 is a partition of public.orders, and the sync config reads public.orders_1, too: the rows of "
                    + "public.orders_1 are synced under the name public.orders_1 only.",
                "public.orders_2 has no primary key: rows cannot be told apart, and the server refuses updates and deletes.",
            ]
        )
    }

    @Test(
        arguments: [
            (
                table("Lists", readable: false), .error, "PSYNC_S1147", "Role Sync may not read public.Lists.",
                #"GRANT SELECT ON public."Lists" TO "Sync";"#
            ),
            (
                table("Lists", schema: "app", readable: false, usable: false), .error, "PSYNC_S1147", "may not read",
                #"GRANT USAGE ON SCHEMA app TO "Sync"; GRANT SELECT ON app."Lists" TO "Sync";"#
            ),
            (
                table("Lists", published: false), .warning, nil, "is not in publication powersync",
                #"ALTER PUBLICATION powersync ADD TABLE public."Lists";"#
            ),
            (
                table("Lists", identity: false), .warning, nil, "has no primary key",
                #"ALTER TABLE public."Lists" ADD PRIMARY KEY (…); or ALTER TABLE public."Lists" REPLICA IDENTITY FULL;"#
            ),
            (
                table("Lists", unreplicatedKey: "slug"), .warning, nil, "columns that are not replicated (slug)",
                #"ALTER TABLE public."Lists" REPLICA IDENTITY USING INDEX …; with a unique index of other columns. "#
                    + #"For a generated column, before PostgreSQL 18, also ALTER TABLE public."Lists" REPLICA IDENTITY FULL; "#
                    + "from then on, if it is stored, ALTER PUBLICATION powersync SET (publish_generated_columns = stored); "
                    + "and one that the publication leaves out can be added to those that it lists."
            ),
            (
                table("Lists", unreplicatedKey: "slug", refusedColumns: "slug"), .warning, nil,
                "Its rows are not synced, and the server refuses everybody's updates and deletes of them.",
                #"ALTER TABLE public."Lists" REPLICA IDENTITY USING INDEX …; with a unique index of other columns. "#
                    + #"For a generated column, before PostgreSQL 18, also ALTER TABLE public."Lists" REPLICA IDENTITY FULL; "#
                    + "from then on, if it is stored, ALTER PUBLICATION powersync SET (publish_generated_columns = stored); "
                    + "and one that the publication leaves out can be added to those that it lists."
            ),
            (
                table("Lists", uniqueIndex: "Lists_pkey", refusedColumns: "slug, size"), .warning, nil,
                "has generated columns that publication powersync leaves out (slug, size): from PostgreSQL 18 on, "
                    + "the server refuses everybody's updates and deletes of its rows.",
                "ALTER PUBLICATION powersync SET (publish_generated_columns = stored); or "
                    + #"ALTER TABLE public."Lists" REPLICA IDENTITY USING INDEX "Lists_pkey";"#
            ),
            (
                table("Lists", refusedColumns: "shown", virtual: true), .warning, nil, "leaves out (shown)",
                #"ALTER TABLE public."Lists" ADD PRIMARY KEY (…); with columns that are not generated, and "#
                    + #"ALTER TABLE public."Lists" REPLICA IDENTITY DEFAULT;"#
            ),
            (
                table("Lists", persistence: "u"), .warning, nil, "is unlogged",
                #"ALTER TABLE public."Lists" SET LOGGED;"#
            ),
            (
                table("Lists", persistence: "t"), .warning, nil, "is temporary",
                "Write the rows into a table that is not temporary, and name that one in the sync config."
            ),
            (
                table("Lists", kind: "p", published: false), .warning, nil, "is not in publication powersync",
                #"ALTER PUBLICATION powersync ADD TABLE public."Lists";"#
            ),
            (
                table("Lists", kind: "p", identity: false, viaRoot: true), .warning, nil, "has no primary key",
                #"ALTER TABLE public."Lists" ADD PRIMARY KEY (…); or ALTER TABLE public."Lists" REPLICA IDENTITY FULL;"#
            ),
            (
                table("Lists", partitionOf: "Whole", viaRoot: true), .warning, nil,
                "publishes its changes as those of public.Whole",
                "Name public.Whole in the sync config, or ALTER PUBLICATION powersync SET (publish_via_partition_root = false);"
            ),
            (
                table("Lists", kind: "v"), .warning, nil, "is a view",
                "Name the tables that it reads in the sync config."
            ),
            (
                table("Lists", kind: "m"), .warning, nil, "is a view",
                "Name the tables that it reads in the sync config."
            ),
            (
                table("Lists", kind: "f"), .warning, nil, "is a foreign table",
                "Replicate the server that has them."
            ),
        ] as [([String?], Finding.Severity, String?, String, String?)]
    )
    func tablesOfTheSyncConfig(
        table: [String?],
        severity: Finding.Severity,
        code: String?,
        message: String,
        remedy: String?
    ) throws {
        let name = table[0] == "app" ? #"app."Lists""# : #""Lists""#
        let findings = try findings(
            tables: [
                table, Self.table("other", identity: false, published: false),
                Self.table("other_slugs", published: false, refusedColumns: "slug"),
            ],
            config: "SELECT * FROM \(name)"
        )
        #expect(findings.count == 1, "\(findings)")
        let finding = try #require(findings.first)
        #expect(finding.severity == severity)
        #expect(finding.code?.rawValue == code)
        #expect(finding.message.contains(message), "\(finding)")
        #expect(finding.remedy == remedy)
    }

    @Test func aPublishedTableOfOthersWhoseChangesTheServerRefusesIsNamed() throws {
        let tables = [Self.table("lists"), Self.table("slugs", uniqueIndex: "slugs_pkey", refusedColumns: "slug")]
        let findings = try findings(tables: tables, config: "SELECT * FROM lists")
        #expect(findings.map(\.place.table?.name) == ["slugs"])
        #expect(findings.first?.message.hasSuffix("deletes of its rows. The sync config does not read it.") == true)
    }

    @Test func policiesAreAWarningForWhoDoesNotBypassThem() throws {
        let tables = [Self.table("lists", rowSecurity: true)]
        let findings = try findings(server: [12: "f"], tables: tables)
        #expect(findings.map(\.code?.rawValue) == ["PSYNC_S1145"])
        #expect(findings.first?.severity == .warning)
        #expect(findings.first?.remedy == #"ALTER ROLE "Sync" BYPASSRLS;"#)
        #expect(try self.findings(server: [12: "t"], tables: tables) == [])
    }

    @Test func aTableThatDoesNotExistIsAWarning() throws {
        let findings = try findings(tables: [], config: "SELECT * FROM lists")
        #expect(findings.map(\.message) == ["The sync config reads lists, and database app has no such table."])
    }

    @Test func wildcardsMeanTables() throws {
        let tables = [
            Self.table("orders", kind: "p"), Self.table("orders_1", identity: false),
            Self.table("orders_view", kind: "v"),
        ]
        let findings = try findings(tables: tables, config: #"SELECT * FROM "orders%""#)
        #expect(findings.count == 1)
        #expect(findings.first?.message.contains("public.orders_1 has no primary key") == true)
    }

    @Test func withoutASyncConfigTheTablesOfThePublicationCount() throws {
        let tables = [
            Self.table("a", identity: false), Self.table("b", identity: false, published: false),
            Self.table("v", kind: "v"),
        ]
        let findings = try findings(tables: tables)
        #expect(findings.count == 1)
        #expect(findings.first?.message.contains("public.a") == true)
    }

    @Test func errorsComeFirstAndReadAsText() throws {
        let findings = try findings(server: [1: "replica", 9: "1"], publication: nil)
        #expect(findings.map(\.severity) == [.error, .error, .warning])
        #expect(
            findings[1].description == """
                error: The database has no publication powersync. [PSYNC_S1141]
                  CREATE PUBLICATION powersync FOR TABLE …; with the tables that the sync config reads
                """
        )
    }

    @Test func otherRowsAreErrors() {
        #expect(throws: PostgresCatalogError.self) {
            try check.findings(server: [], publication: [], tables: [], plan: nil)
        }
        #expect(throws: PostgresCatalogError.self) { try findings(publication: ["t"]) }
        #expect(throws: PostgresCatalogError.self) { try findings(tables: [["public"]]) }
        #expect(throws: PostgresCatalogError.self) { try findings(server: [0: "x"]) }
    }
}

import PowerSyncServiceCore
import PowerSyncSyncConfig

/// A table or what looks like one, as the catalogue describes it.
struct PublishedTable {
    var name: SourceTableName
    /// `r` for a table, `p` for one with partitions, `v`, `m`, `f` for what is no table.
    var kind: String
    var isUnlogged: Bool
    var isTemporary: Bool
    var hasIdentity: Bool
    /// The names of the columns of the key that are not replicated, with commas; `nil` when all are.
    var unreplicatedKey: String?
    /// Whether policies apply to the role.
    var hasActiveRowSecurity: Bool
    var isPublished: Bool
    var canBeRead: Bool
    var schemaCanBeUsed: Bool
    /// A unique index over columns that are never NULL, if there is one: it can be the identity.
    var uniqueIndex: String?
    /// Whether there is a primary key, and the table is told not to use it.
    var ignoresPrimaryKey: Bool
    /// The names of the generated columns of the identity that the publication leaves out, with commas, if the server refuses
    /// updates and deletes because of them: from PostgreSQL 18 on.
    var refusedColumns: String?
    /// Whether one of these is virtual: a publication cannot have it.
    var refusesVirtualColumns: Bool
    /// The tables that it is a partition of, from the nearest one on.
    var wholes: [SourceTableName]
    /// Whether its changes are published as those of its partitioned table (`publish_via_partition_root`).
    var isPublishedAsWhole: Bool
    /// Whether it has partitions whose changes are published as its own.
    var isPublishedWithPartitions: Bool

    init(_ position: Int, _ row: [String?]) throws(PostgresCatalogError) {
        guard row.count == 17, let schema = row[0], let name = row[1], let kind = row[2] else {
            throw PostgresCatalogError(query: "tables", row: position, column: "the number of columns")
        }
        self.name = SourceTableName(schema: schema, name: name)
        self.kind = kind
        isUnlogged = row[3] == "u"
        isTemporary = row[3] == "t"
        hasIdentity = row[4] == "t"
        hasActiveRowSecurity = row[5] == "t"
        isPublished = row[6] == "t"
        canBeRead = row[7] == "t"
        schemaCanBeUsed = row[8] == "t"
        unreplicatedKey = row[9]
        uniqueIndex = row[10]
        ignoresPrimaryKey = row[11] == "t"
        refusedColumns = row[12]
        refusesVirtualColumns = row[13] == "t"
        wholes = PostgresTable.Whole.all(in: row[14]).map(\.name)
        isPublishedAsWhole = row[15] == "t" && row[16] == "t"
        isPublishedWithPartitions = kind == "p" && row[15] == "t" && row[16] != "t"
    }

    /// The name for statements.
    var sqlName: String { PostgresIdentifier.quoted(name) }
}

extension PostgresCheck {
    /// All that a sync config could name.
    ///
    /// Its parameter `$1` is the name of the publication.
    package static func tablesQuery(serverVersion: Int) -> String {
        """
        SELECT n.nspname, c.relname, c.relkind, c.relpersistence,
          CASE c.relreplident
            WHEN 'f' THEN true
            WHEN 'i' THEN EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
            WHEN 'd' THEN EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
            ELSE false END,
          pg_catalog.row_security_active(c.oid),
          t.is_published IS NOT NULL,
          pg_catalog.has_table_privilege(c.oid, 'SELECT'),
          pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
          (SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum)
            FROM pg_catalog.pg_index i
            JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
              AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
            WHERE i.indrelid = c.oid
              AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)
              AND NOT \(PostgresPublication.publishes("a", "t"))),
          (SELECT k.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class k ON k.oid = i.indexrelid
            WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
              AND i.indexprs IS NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
                  AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
                  AND (NOT a.attnotnull OR NOT \(PostgresPublication.publishes("a", "t"))))
            ORDER BY i.indnkeyatts, k.relname LIMIT 1),
          c.relreplident = 'n'
            AND EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
          g.names, g.has_virtual, CASE WHEN c.relispartition THEN (\(PostgresPublication.wholes)) END,
          t.pubviaroot, t.has_whole
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN LATERAL (SELECT true AS is_published, m.attributes, m.has_generated, p.pubviaroot,
            c.relispartition AND EXISTS (\(PostgresPublication.publishedWhole(serverVersion: serverVersion))) AS has_whole
          FROM pg_catalog.pg_publication p
          CROSS JOIN LATERAL (\(PostgresPublication.membership(serverVersion: serverVersion))) m
          WHERE p.pubname = $1) t ON c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
        LEFT JOIN LATERAL (
          SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum) AS names,
            bool_or(a.attgenerated = 'v') AS has_virtual
          FROM pg_catalog.pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''
            AND (c.relreplident = 'f' OR EXISTS (
              SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
                AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)
                AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])))
            AND NOT \(PostgresPublication.publishes("a", "t"))) g ON t.is_published AND \(serverVersion >= 180_000)
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
        ORDER BY n.nspname, c.relname
        """
    }

    func tableFindings(
        _ tables: [PublishedTable],
        _ plan: SyncPlan?,
        namesMissingTables: Bool,
        _ state: PostgresServerState
    ) -> [Finding] {
        func problems(of table: PublishedTable) -> [Finding] {
            self.problems(of: table, state).map { $0.about(table.name) }
        }
        guard let plan else {
            return
                tables
                .filter { $0.isPublished && ($0.kind == "r" && !$0.isPublishedAsWhole || $0.isPublishedWithPartitions) }
                .flatMap { problems(of: $0) }
        }
        var findings: [Finding] = []
        var reported: Set<SourceTableName> = []
        for pattern in plan.tablePatterns {
            let matching = tables.filter { pattern.matches($0.name, defaultSchema: defaultSchema) }
            if matching.isEmpty, namesMissingTables {
                findings.append(
                    .warning(
                        "The sync config reads \(pattern), and database \(state.database) has no such table.",
                        "Check the spelling; names are case sensitive. A table that is created later is noticed."
                    ).about(SourceTableName(schema: pattern.schema ?? defaultSchema, name: pattern.table))
                )
            }
            // With a wildcard, only what is a table is meant.
            for table in matching where !pattern.isWildcard || table.kind == "r" || table.kind == "p" {
                guard reported.insert(table.name).inserted else { continue }
                let parts = table.isPublishedWithPartitions ? [] : parts(of: table, among: tables)
                guard table.kind == "p", !table.isPublishedWithPartitions, !parts.isEmpty || table.isPublished else {
                    findings += problems(of: table)
                    continue
                }
                for part in parts where reported.insert(part.name).inserted {
                    let nearer = [part.name] + part.wholes.prefix { $0 != table.name }
                    if let name = nearer.first(where: { name in
                        plan.tablePatterns.contains { $0.matches(name, defaultSchema: defaultSchema) }
                    }) {
                        findings.append(otherNameFinding(part, name, of: table))
                    }
                    findings += problems(of: part)
                }
            }
        }
        return findings
            + tables.filter { !reported.contains($0.name) }.compactMap { table in
                otherTableFinding(table, isKnownUnread: !plan.tablePatterns.isEmpty)?.about(table.name)
            }
    }

    /// The partitions of a table, which are replicated under its name; none if the publication has none of them.
    private func parts(of whole: PublishedTable, among tables: [PublishedTable]) -> [PublishedTable] {
        let parts = tables.filter { $0.kind == "r" && $0.wholes.contains(whole.name) }
        return whole.isPublished || parts.contains(where: \.isPublished) ? parts : []
    }

    private func otherNameFinding(
        _ part: PublishedTable,
        _ name: SourceTableName,
        of whole: PublishedTable
    ) -> Finding {
        Finding.leftOut(
            """
            \(part.name) is a partition of \(whole.name), and the sync config reads \(name), too: the rows of \(part.name) are synced under \
            the name \(name) only.
            """,
            "Name \(whole.name) in the sync config, and not its partitions."
        ).about(part.name)
    }

    /// What the publication does to a table that no sync config reads, as far as one is known.
    private func otherTableFinding(_ table: PublishedTable, isKnownUnread: Bool) -> Finding? {
        guard table.isPublished, table.kind == "r", !table.isUnlogged, !table.isTemporary else { return nil }
        guard !table.hasIdentity else {
            return refusalFinding(table, rest: isKnownUnread ? " The sync config does not read it." : "")
        }
        return .warning(
            """
            \(table.name) is in publication \(publication) and has no replica identity: the server refuses everybody's updates and \
            deletes of its rows.\(isKnownUnread ? " The sync config does not read it." : "")
            """,
            """
            \(identityRemedy(table)) Or publish the tables of the sync config only: \(createPublication([])) takes the place of one \
            FOR ALL TABLES, and ALTER PUBLICATION \(PostgresIdentifier.quoted(publication)) DROP TABLE \(table.sqlName); is for one \
            that lists its tables.
            """
        )
    }

    /// What gives a table an identity.
    private func identityRemedy(_ table: PublishedTable) -> String {
        let alter = "ALTER TABLE \(table.sqlName)"
        if table.ignoresPrimaryKey { return "\(alter) REPLICA IDENTITY DEFAULT;" }
        if let index = table.uniqueIndex {
            return "\(alter) REPLICA IDENTITY USING INDEX \(PostgresIdentifier.quoted(index));"
        }
        return "\(alter) ADD PRIMARY KEY (…); or \(alter) REPLICA IDENTITY FULL;"
    }

    /// The statements with which a role may read a table.
    static func grants(
        on table: SourceTableName,
        to role: String,
        schemaCanBeUsed: Bool,
        canBeRead: Bool
    ) -> String {
        let role = PostgresIdentifier.quoted(role)
        var statements: [String] = []
        if !schemaCanBeUsed {
            statements.append("GRANT USAGE ON SCHEMA \(PostgresIdentifier.quoted(table.schema)) TO \(role);")
        }
        if !canBeRead { statements.append("GRANT SELECT ON \(PostgresIdentifier.quoted(table)) TO \(role);") }
        return statements.joined(separator: " ")
    }

    private func problems(of table: PublishedTable, _ state: PostgresServerState) -> [Finding] {
        if let finding = kindFinding(table) { return [finding] }
        if table.isPublishedAsWhole {
            let root = table.wholes.last.map { "\($0)" } ?? "its root"
            return [
                .leftOut(
                    """
                    \(table.name) is a partition, and publication \(publication) publishes its changes as those of \(root): its rows are \
                    not synced under its own name.
                    """,
                    """
                    Name \(root) in the sync config, or ALTER PUBLICATION \(PostgresIdentifier.quoted(publication)) SET \
                    (publish_via_partition_root = false);
                    """
                )
            ]
        }
        let role = PostgresIdentifier.quoted(state.role)
        var findings: [Finding] = []
        if !table.schemaCanBeUsed || !table.canBeRead {
            findings.append(
                .error(
                    .privilegeMissing,
                    "Role \(state.role) may not read \(table.name).",
                    Self.grants(
                        on: table.name,
                        to: state.role,
                        schemaCanBeUsed: table.schemaCanBeUsed,
                        canBeRead: table.canBeRead
                    )
                )
            )
        }
        if !table.isPublished {
            findings.append(
                .leftOut(
                    "\(table.name) is not in publication \(publication): its rows are not synced.",
                    "ALTER PUBLICATION \(PostgresIdentifier.quoted(publication)) ADD TABLE \(table.sqlName);"
                )
            )
        }
        if table.hasActiveRowSecurity, !state.bypassesRowSecurity {
            findings.append(
                .warning(
                    .rowSecurity,
                    """
                    Policies of \(table.name) apply to role \(state.role): rows that it does not see are missing from the \
                    copy, and come with changes.
                    """,
                    "ALTER ROLE \(role) BYPASSRLS;"
                )
            )
        }
        if !table.hasIdentity {
            findings.append(
                .leftOut(
                    """
                    \(table.name) has no \(table.ignoresPrimaryKey ? "replica identity" : "primary key"): rows cannot be told apart, \
                    and the server refuses updates and deletes.
                    """,
                    identityRemedy(table)
                )
            )
        }
        if let columns = table.unreplicatedKey {
            findings.append(unreplicatedKeyFinding(table, columns))
        } else if let finding = refusalFinding(table) {
            findings.append(finding)
        }
        return findings
    }

    /// That the server refuses changes of the rows, because it could not publish all of their identity.
    private func refusalFinding(_ table: PublishedTable, rest: String = "") -> Finding? {
        guard let columns = table.refusedColumns else { return nil }
        var ways: [String] = []
        if !table.refusesVirtualColumns {
            ways.append(
                "ALTER PUBLICATION \(PostgresIdentifier.quoted(publication)) SET (publish_generated_columns = stored);"
            )
        }
        let alter = "ALTER TABLE \(table.sqlName)"
        if let index = table.uniqueIndex {
            ways.append("\(alter) REPLICA IDENTITY USING INDEX \(PostgresIdentifier.quoted(index));")
        } else {
            ways.append(
                "\(alter) ADD PRIMARY KEY (…); with columns that are not generated, and \(alter) REPLICA IDENTITY DEFAULT;"
            )
        }
        return .warning(
            """
            The replica identity of \(table.name) has generated columns that publication \(publication) leaves out (\(columns)): from \
            PostgreSQL 18 on, the server refuses everybody's updates and deletes of its rows.\(rest)
            """,
            ways.joined(separator: " or ")
        )
    }

    private func unreplicatedKeyFinding(_ table: PublishedTable, _ columns: String) -> Finding {
        let refusal =
            table.refusedColumns == nil ? "" : ", and the server refuses everybody's updates and deletes of them"
        return .leftOut(
            """
            The replica identity of \(table.name) has columns that are not replicated (\(columns)): they are generated, or the \
            publication leaves them out. Its rows are not synced\(refusal).
            """,
            """
            ALTER TABLE \(table.sqlName) REPLICA IDENTITY USING INDEX …; with a unique index of other columns. For a generated \
            column, before PostgreSQL 18, also ALTER TABLE \(table.sqlName) REPLICA IDENTITY FULL; from then on, if it is stored, \
            ALTER PUBLICATION \(PostgresIdentifier.quoted(publication)) SET (publish_generated_columns = stored); and one that the \
            publication leaves out can be added to those that it lists.
            """
        )
    }

    /// What is wrong with something that is not an ordinary table.
    private func kindFinding(_ table: PublishedTable) -> Finding? {
        switch table.kind {
        case "r" where table.isUnlogged:
            .leftOut(
                "\(table.name) is unlogged: its changes are not in the log, and its rows are not synced.",
                "ALTER TABLE \(table.sqlName) SET LOGGED;"
            )
        case "r" where table.isTemporary:
            .leftOut(
                "\(table.name) is temporary: its rows are not synced.",
                "Write the rows into a table that is not temporary, and name that one in the sync config."
            )
        case "r", "p":
            nil
        case "v", "m":
            .leftOut(
                "\(table.name) is a view: it has no changes of its own, and its rows are not synced.",
                "Name the tables that it reads in the sync config."
            )
        default:
            .leftOut(
                "\(table.name) is a foreign table: its rows are not synced.",
                "Replicate the server that has them."
            )
        }
    }
}

import PowerSyncRules

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

    init(_ position: Int, _ row: [String?]) throws(PostgresCatalogError) {
        guard row.count == 10, let schema = row[0], let name = row[1], let kind = row[2] else {
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
    }

    /// The name for statements.
    var sqlName: String {
        "\(PostgresIdentifier.quoted(name.schema)).\(PostgresIdentifier.quoted(name.name))"
    }
}

extension PostgresCheck {
    /// All that a sync config could name.
    ///
    /// Its parameter `$1` is the name of the publication.
    package static let tablesQuery = """
        SELECT n.nspname, c.relname, c.relkind, c.relpersistence,
          CASE c.relreplident
            WHEN 'f' THEN true
            WHEN 'i' THEN EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
            WHEN 'd' THEN EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
            ELSE false END,
          pg_catalog.row_security_active(c.oid),
          t.tablename IS NOT NULL,
          CASE WHEN pg_catalog.has_schema_privilege(n.oid, 'USAGE')
            THEN pg_catalog.has_table_privilege(c.oid, 'SELECT')
              OR (SELECT pg_catalog.bool_and(pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
                FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
            ELSE pg_catalog.has_table_privilege(c.oid, 'SELECT') END,
          pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
          (SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum)
            FROM pg_catalog.pg_index i
            JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
              AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
            WHERE i.indrelid = c.oid
              AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)
              AND (a.attgenerated <> ''
                OR pg_catalog.jsonb_typeof(t.attnames) = 'array' AND NOT t.attnames ? a.attname::text))
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN (SELECT DISTINCT v.schemaname, v.tablename, pg_catalog.to_jsonb(v) -> 'attnames' AS attnames
          FROM pg_catalog.pg_publication_tables v WHERE v.pubname = $1) t
          ON t.schemaname = n.nspname AND t.tablename = c.relname
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
        ORDER BY n.nspname, c.relname
        """

    func tableFindings(
        _ tables: [PublishedTable],
        _ plan: SyncPlan?,
        _ state: PostgresServerState
    ) -> [PostgresFinding] {
        func problems(of table: PublishedTable) -> [PostgresFinding] {
            self.problems(of: table, state).map { $0.about(table.name) }
        }
        guard let plan else {
            return tables.filter { $0.isPublished && $0.kind == "r" }.flatMap { problems(of: $0) }
        }
        var findings: [PostgresFinding] = []
        var reported: Set<SourceTableName> = []
        for pattern in plan.tablePatterns {
            let matching = tables.filter { pattern.matches($0.name, defaultSchema: defaultSchema) }
            if matching.isEmpty {
                let missing = PostgresFinding.warning(
                    "The sync config reads \(pattern), and database \(state.database) has no such table.",
                    "Check the spelling; names are case sensitive. A table that is created later is noticed."
                )
                let name = SourceTableName(schema: pattern.schema ?? defaultSchema, name: pattern.table)
                findings.append(pattern.isWildcard ? missing : missing.about(name))
            }
            // With a wildcard, only what is a table is meant.
            for table in matching where !pattern.isWildcard || table.kind == "r" {
                guard reported.insert(table.name).inserted else { continue }
                findings += problems(of: table)
            }
        }
        return findings
    }

    private func problems(of table: PublishedTable, _ state: PostgresServerState) -> [PostgresFinding] {
        if let finding = kindFinding(table) { return [finding] }
        let role = PostgresIdentifier.quoted(state.role)
        var findings: [PostgresFinding] = []
        if !table.schemaCanBeUsed || !table.canBeRead {
            var statements: [String] = []
            if !table.schemaCanBeUsed {
                statements.append("GRANT USAGE ON SCHEMA \(PostgresIdentifier.quoted(table.name.schema)) TO \(role);")
            }
            if !table.canBeRead { statements.append("GRANT SELECT ON \(table.sqlName) TO \(role);") }
            findings.append(
                .error(
                    .privilegeMissing,
                    "Role \(state.role) may not read \(table.name).",
                    statements.joined(separator: " ")
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
                    \(table.name) has no primary key: rows cannot be told apart, and the server refuses updates and deletes.
                    """,
                    "ALTER TABLE \(table.sqlName) ADD PRIMARY KEY (…); or ALTER TABLE \(table.sqlName) REPLICA IDENTITY FULL;"
                )
            )
        }
        if let columns = table.unreplicatedKey { findings.append(unreplicatedKeyFinding(table, columns)) }
        return findings
    }

    private func unreplicatedKeyFinding(_ table: PublishedTable, _ columns: String) -> PostgresFinding {
        .leftOut(
            """
            The replica identity of \(table.name) has columns that are not replicated (\(columns)): they are generated, or the \
            publication leaves them out. Its rows are not synced.
            """,
            """
            ALTER TABLE \(table.sqlName) REPLICA IDENTITY USING INDEX …; with a unique index of other columns. For a generated \
            column, before PostgreSQL 18, also ALTER TABLE \(table.sqlName) REPLICA IDENTITY FULL; and one that the publication \
            leaves out can be added to those that it lists.
            """
        )
    }

    /// What is wrong with something that is not an ordinary table.
    private func kindFinding(_ table: PublishedTable) -> PostgresFinding? {
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
        case "r":
            nil
        case "p":
            .leftOut(
                "\(table.name) has partitions: they are replicated as tables of their own, \(table.name) itself is not.",
                "Name the partitions in the sync config, with % for what their names do not share."
            )
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

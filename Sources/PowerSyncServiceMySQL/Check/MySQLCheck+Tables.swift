import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Judges what a server has for a plan.
extension MySQLCheck {
    /// The codes of errors with which changes of tables would be missed.
    static let codesOfMissedChanges: [ErrorCode?] = [.mysqlLogFilter, .mysqlRowImage]

    /// What the filters of the log leave out.
    ///
    /// The table's database decides over rows, and the default database of the session over statements: a filter that lets a schema through
    /// loses what is done to its tables from another one.
    static func filterFindings(_ state: MySQLServerState, _ plan: SyncPlan, _ tables: [MySQLTable]) -> [Finding] {
        guard case .written(let only, let without) = state.log, !only.isEmpty || !without.isEmpty else { return [] }
        let schemas = Set(plan.tablePatterns.map { $0.schema ?? plan.defaultSchema })
        let hidden = schemas.filter { !only.isEmpty && !only.contains($0) || without.contains($0) }.sorted()
        let remedy = """
            Take \(only.isEmpty ? "binlog-ignore-db" : "binlog-do-db") out of the server's configuration, and restart it.
            """
        if !hidden.isEmpty {
            return [
                .error(
                    .mysqlLogFilter,
                    "The log leaves out the changes of \(hidden.joined(separator: ", ")).",
                    remedy
                )
            ]
        }
        if state.mayProcess, tables.allSatisfy(\.hasIncarnation) {
            return [
                .warning(
                    .mysqlLogFilter,
                    """
                    The log leaves out statements of sessions in other databases: what they do to tables, such as TRUNCATE, may be seen \
                    a minute late, or not if it is undone meanwhile.
                    """,
                    remedy
                )
            ]
        }
        return [
            .error(
                .mysqlLogFilter,
                "The log leaves out statements of sessions in other databases: what they do to tables, such as TRUNCATE, would be missed.",
                state.mayProcess ? remedy : "\(remedy) Or \(state.grant("PROCESS"))"
            )
        ]
    }

    /// The tables whose changes cannot be followed by rows that the log does not have completely.
    static func imageFindings(_ state: MySQLServerState, _ catalogue: MySQLCatalogue) -> [Finding] {
        guard let image = state.setting("binlog_row_image"), image == "MINIMAL" || image == "NOBLOB" else { return [] }
        let remedy = state.mending("binlog_row_image", "FULL")
        let withoutKey = catalogue.tables.filter { $0.key == .none }.map { table in
            Finding.error(
                .mysqlRowImage,
                "\(table.name) has no primary key, and binlog_row_image is \(image): it cannot be told which rows change.",
                "\(remedy) Or ALTER TABLE \(table.name.mysqlQuoted) ADD PRIMARY KEY (…);"
            ).about(table.name)
        }
        guard !catalogue.logsCascades else { return withoutKey }
        let parents = (catalogue.tables + catalogue.ancestors).filter { table in
            catalogue.cascades.contains { key in
                key.parent == table.name
                    && !(table.key == .primary && Set(key.parentColumns).isSubset(of: table.identity.map(\.name)))
            }
        }
        return withoutKey
            + parents.map { table in
                .error(
                    .mysqlRowImage,
                    """
                    Foreign keys refer to columns of \(table.name) that are no primary key, and binlog_row_image is \(image): the log \
                    does not say which rows they change.
                    """,
                    remedy
                ).about(table.name)
            }
    }

    /// The tables that a plan names and that are not there.
    static func missingTables(
        _ plan: SyncPlan,
        _ catalogue: MySQLCatalogue,
        _ state: MySQLServerState
    ) -> [Finding] {
        let known = catalogue.tables.map(\.name) + catalogue.findings.compactMap(\.place.table)
        return plan.tablePatterns.filter { pattern in
            !pattern.hasSchemaWildcard && !known.contains { pattern.matches($0, defaultSchema: plan.defaultSchema) }
        }
        .map { pattern in
            let schema = pattern.schema ?? plan.defaultSchema
            return .warning(
                nil,
                "The sync config reads \(pattern), and the server has no such table, or the user may not read it.",
                """
                Check the spelling; names are case sensitive. For a table that is there, GRANT SELECT ON \
                \(MySQLText.identifier(schema)).* TO \(state.account.quoted); A table that is created later is noticed.
                """
            ).about(SourceTableName(schema: schema, name: pattern.table))
        }
    }

    /// What is known of a sync config as soon as the columns of the tables are: names that mean nothing there, with their places.
    static func textFindings(
        _ content: String,
        file: String,
        _ defaultSchema: String,
        _ connection: MySQLConnection
    ) async throws -> [Finding] {
        let schema = SourceSchema(try await MySQLRelations.all(connection), defaultSchema: defaultSchema)
        // What is said without knowing the source is said elsewhere.
        let known = Set(SyncConfig.parse(content).diagnostics)
        return SyncConfig.parse(content, schema: schema).diagnostics.filter { !known.contains($0) }.map { diagnostic in
            var finding = Finding(diagnostic, .source, file: file)
            finding.severity = .warning
            finding.remedy =
                finding.remedy ?? "Correct the sync config, or the database: a change of its tables is noticed."
            return finding
        }
    }
}

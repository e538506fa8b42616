import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Tells whether a server can be replicated, and what is missing (docs/postgres.md "Checking a server").
///
/// The three queries are run on one connection; what they return is judged here, without a connection
/// (``findings(on:plan:text:)`` asks the rest):
///
/// ```swift
/// let check = PostgresCheck(publication: "powersync", slotNamePrefix: "powersync_")
/// let findings = try check.findings(
///     server: try await connection.query(PostgresCheck.serverQuery, ["powersync_"], activity: "…"),
///     publication: try await connection.query(PostgresCheck.publicationQuery, ["powersync"], activity: "…"),
///     tables: try await connection.query(PostgresCheck.tablesQuery(serverVersion: connection.serverVersion), ["powersync"], activity: "…"),
///     plan: plan
/// )
/// ```
package struct PostgresCheck: Sendable {
    /// The oldest version that can be replicated.
    package static let minimumVersion = 140_000
    /// From here on, `max_slot_wal_keep_size` is not worth a warning: 1 GB, in MB as the server counts it.
    static let enoughWAL = 1024
    /// From here on, `idle_replication_slot_timeout` is not worth a warning: a day, in seconds.
    static let enoughIdleTime = 86_400

    /// The name of the publication.
    package let publication: String
    /// What the names of the service's replication slots begin with.
    package let slotNamePrefix: String
    /// The schema of tables that the sync config names without one.
    package let defaultSchema: String

    /// Creates a check.
    package init(publication: String, slotNamePrefix: String, defaultSchema: String = "public") {
        self.publication = publication
        self.slotNamePrefix = slotNamePrefix
        self.defaultSchema = defaultSchema
    }

    /// Judges what the queries have returned.
    ///
    /// - Parameters:
    ///   - server: The row of ``serverQuery``.
    ///   - publication: The rows of ``publicationQuery``.
    ///   - tables: The rows of ``tablesQuery(serverVersion:)``.
    ///   - plan: What is synced; `nil` to judge all tables of the publication.
    ///   - namesMissingTables: Whether a table that does not exist is a finding; not when the text of the sync config is compared with the
    ///     tables, too, which tells where it is named and which one may be meant.
    /// - Returns: The findings, errors first.
    /// - Throws: ``PostgresCatalogError`` when the rows are not what the queries return.
    package func findings(
        server: [[String?]],
        publication: [[String?]],
        tables: [[String?]],
        plan: SyncPlan?,
        namesMissingTables: Bool = true
    ) throws(PostgresCatalogError) -> [Finding] {
        let state = try PostgresServerState(server)
        var described: [PublishedTable] = []
        for (position, row) in tables.enumerated() { described.append(try PublishedTable(position, row)) }
        let read = described.filter { table in
            ["r", "p"].contains(table.kind) && !table.isUnlogged && !table.isTemporary
                && (plan?.tablePatterns ?? []).contains { $0.matches(table.name, defaultSchema: defaultSchema) }
        }
        return
            (serverFindings(state) + (try publicationFindings(publication, tables: read.map(\.name)))
            + tableFindings(described, plan, namesMissingTables: namesMissingTables, state)).errorsFirst
    }
}

// MARK: Publication

extension PostgresCheck {
    /// The publication, if it exists.
    ///
    /// Its parameter `$1` is the name.
    package static let publicationQuery = """
        SELECT p.puballtables, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate,
          coalesce(pg_catalog.to_jsonb(p) ->> 'pubviaroot', 'false')
        FROM pg_catalog.pg_publication p WHERE p.pubname = $1
        """

    /// The statement that makes the publication.
    ///
    /// One FOR ALL TABLES would make the server refuse updates of all tables without an identity, which others may have.
    ///
    /// - Parameter tables: Those that the sync config reads; empty when they are not known.
    /// - Returns: The statement.
    func createPublication(_ tables: [SourceTableName]) -> String {
        let names = tables.isEmpty ? "…" : tables.map { PostgresIdentifier.quoted($0) }.joined(separator: ", ")
        let statement = "CREATE PUBLICATION \(PostgresIdentifier.quoted(publication)) FOR TABLE \(names);"
        return tables.isEmpty ? "\(statement) with the tables that the sync config reads" : statement
    }

    func publicationFindings(
        _ rows: [[String?]],
        tables: [SourceTableName] = []
    ) throws(PostgresCatalogError) -> [Finding] {
        let name = PostgresIdentifier.quoted(publication)
        guard let row = rows.first else {
            return [
                .error(
                    .publicationMissing,
                    "The database has no publication \(publication).",
                    createPublication(tables)
                )
            ]
        }
        guard row.count == 6 else {
            throw PostgresCatalogError(query: "publication", row: 0, column: "the number of columns")
        }
        var findings: [Finding] = []
        let missing = zip(["insert", "update", "delete", "truncate"], row[1...4]).filter { $0.1 != "t" }.map(\.0)
        if !missing.isEmpty {
            findings.append(
                .error(
                    .publicationOperations,
                    "Publication \(publication) leaves out \(missing.joined(separator: ", ")): clients would keep old rows.",
                    "ALTER PUBLICATION \(name) SET (publish = 'insert, update, delete, truncate');"
                )
            )
        }
        if row[5] == "true" || row[5] == "t" {
            findings.append(
                .warning(
                    .publicationViaRoot,
                    """
                    Publication \(publication) publishes partitions as their root: a table with partitions is copied again as a whole when \
                    one of them is made, attached, detached or truncated.
                    """,
                    "ALTER PUBLICATION \(name) SET (publish_via_partition_root = false);"
                )
            )
        }
        return findings
    }
}

package import PowerSyncSyncConfig
package import PowerSyncServiceCore

extension PostgresCheck {
    /// Asks everything on a connection, and judges it: what `test-connection` and `doctor` say.
    ///
    /// - Parameters: As of ``lastingFindings(on:plan:text:)``.
    /// - Returns: The findings, errors first.
    /// - Throws: ``PostgresError``, ``PostgresCatalogError`` or `CancellationError`.
    package func findings(
        on connection: PostgresConnection,
        plan: SyncPlan?,
        text: (content: String, file: String)? = nil
    ) async throws -> [Finding] {
        var findings = try await lastingFindings(on: connection, plan: plan, text: text)
        if let plan { findings += try await lockFindings(plan, on: connection) }
        findings += try await slotWaits(on: connection)
        return findings.errorsFirst
    }

    /// What does not pass by itself: what a service says at its start, too, which finds its blockers in another way.
    ///
    /// - Parameters:
    ///   - connection: A connection to the database.
    ///   - plan: What is synced; `nil` to judge all tables of the publication.
    ///   - text: The sync config of the plan, and the name of its file: its names are compared with those that there are.
    /// - Returns: The findings, errors first.
    /// - Throws: ``PostgresError``, ``PostgresCatalogError`` or `CancellationError`.
    func lastingFindings(
        on connection: PostgresConnection,
        plan: SyncPlan?,
        text: (content: String, file: String)?
    ) async throws -> [Finding] {
        var findings = try findings(
            server: try await connection.query(Self.serverQuery, [slotNamePrefix], activity: "reading the settings"),
            publication: try await connection.query(
                Self.publicationQuery,
                [publication],
                activity: "reading the publication"
            ),
            tables: try await connection.query(
                Self.tablesQuery(serverVersion: connection.serverVersion),
                [publication],
                activity: "reading the tables"
            ),
            plan: plan,
            namesMissingTables: text == nil
        )
        if let text {
            findings += try await textFindings(text.content, file: text.file, on: connection)
        }
        return findings
    }

    /// What is known of a sync config as soon as the columns of the tables are: names that mean nothing there, with their places.
    private func textFindings(
        _ content: String,
        file: String,
        on connection: PostgresConnection
    ) async throws -> [Finding] {
        let relations = try await PostgresRelations.all(connection)
        let schema = SourceSchema(relations, defaultSchema: defaultSchema)
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

    /// The shortest lock that is worth a finding, in seconds.
    private static let longLock = 5

    /// Tables that another session has had locked for a while.
    private func lockFindings(_ plan: SyncPlan, on connection: PostgresConnection) async throws -> [Finding] {
        let locked = try await connection.query(
            """
            SELECT DISTINCT c.oid, n.nspname, c.relname FROM pg_catalog.pg_locks l
            JOIN pg_catalog.pg_class c ON c.oid = l.relation AND c.relkind = 'r'
            JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
              AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
            """,
            activity: "reading the locks"
        )
        var findings: [Finding] = []
        for row in locked {
            guard row.count == 3, let oid = row[0].flatMap({ PostgresOID($0) }), let schema = row[1], let name = row[2]
            else { continue }
            let table = SourceTableName(schema: schema, name: name)
            guard plan.tablePatterns.contains(where: { $0.matches(table, defaultSchema: defaultSchema) }) else {
                continue
            }
            let blockers = try await connection.blockers(ofTable: oid)
            guard blockers.contains(where: { $0.seconds ?? Self.longLock >= Self.longLock }) else { continue }
            findings.append(
                .warning(
                    "\(table) is locked by \(blockers.names): it cannot be copied meanwhile.",
                    blockers.first?.remedy
                ).about(table)
            )
        }
        return findings
    }

    /// Slots that are being made, and their blockers.
    private func slotWaits(on connection: PostgresConnection) async throws -> [Finding] {
        var findings: [Finding] = []
        for process in try await connection.processesMakingSlots() {
            let blockers = try await connection.blockers(ofProcess: process)
            guard !blockers.isEmpty else { continue }
            findings.append(
                .warning(
                    """
                    A replication slot cannot be made, and nothing be copied, before a transaction ends that began earlier: \
                    \(blockers.names).
                    """,
                    blockers.first?.remedy
                )
            )
        }
        return findings
    }

    /// What keeps a service from starting: settings of the server, privileges of the role, the publication.
    ///
    /// Slots are not counted: that of the service may be among those that are in use.
    func settingErrors(on connection: PostgresConnection) async throws -> [Finding] {
        let rows = try await connection.query(Self.serverQuery, [slotNamePrefix], activity: "reading the settings")
        return settingFindings(try PostgresServerState(rows)) + (try await publicationErrors(on: connection))
    }

    /// What is wrong with the publication.
    func publicationErrors(on connection: PostgresConnection) async throws -> [Finding] {
        let rows = try await connection.query(
            Self.publicationQuery,
            [publication],
            activity: "reading the publication"
        )
        return try publicationFindings(rows).filter { $0.severity == .error }
    }

    /// What may help when there is no connection.
    ///
    /// - Parameter error: The error of connecting.
    /// - Returns: What to look at; `nil` when the message says it all.
    package static func remedy(for error: PostgresError) -> String? {
        switch error.sqlState {
        case "28P01", "28000":
            return "Check username and password, and that pg_hba.conf of the server allows the role from this machine."
        case "3D000": return "Check the name of the database; names are case sensitive."
        case "53300": return "Raise max_connections of the server, or close other connections."
        case "57P01", "57P02": return "The server was stopped, or somebody has ended the connection; look at its log."
        case "57P03":
            return "The server is about to start or to stop, or a standby does not take connections: wait for it."
        case "25P03", "57P05":
            return
                "A limit for idle connections is too short: idle_in_transaction_session_timeout, idle_session_timeout."
        default: break
        }
        // libpq has no codes for what happens before the server answers.
        let message = error.message.lowercased()
        if message.contains("certificate") {
            return """
                Give the certificate of the server's authority as cacert; with a certificate for another name, that name as \
                hostname. sslmode: disable is for networks that nobody else can read.
                """
        }
        if message.contains("does not support ssl") {
            return
                "Switch TLS on at the server (ssl = on), or write sslmode: disable if nobody else can read the network."
        }
        if message.contains("permission denied for database") {
            return "Let the role in: GRANT CONNECT ON DATABASE name TO role;"
        }
        if message.contains("does not exist") {
            return "Check username and the name of the database; names are case sensitive."
        }
        if message.contains("password") { return "Check username and password." }
        if message.contains("translate host name") || message.contains("name or service not known") {
            return "Check hostname, and that this machine can resolve it."
        }
        // What the server itself says is no matter of the way to it.
        guard error.sqlState == nil else { return nil }
        if message.contains("connection refused") {
            return "Check hostname and port, that the server runs, and that it listens on more than localhost."
        }
        let isSilent = ["timeout expired", "timed out", "no route to host", "network is unreachable"].contains {
            message.contains($0)
        }
        if isSilent || error.code == .timeout && error.activity.hasPrefix("connecting") {
            return "Nothing answers: check hostname and port, and the firewalls between."
        }
        return nil
    }
}

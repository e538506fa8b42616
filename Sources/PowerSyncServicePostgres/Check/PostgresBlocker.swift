/// What blocks the service: a session, or a transaction that was prepared and not ended.
struct PostgresBlocker: Sendable, Hashable {
    /// The process of the server; `nil` for a prepared transaction.
    var process: String?
    /// The name of a prepared transaction.
    var preparedName: String?
    var database: String?
    var role: String?
    var application: String?
    /// For how many seconds its transaction is open; `nil` when the role may not see that.
    var seconds: Int?
    /// What the session does, in the server's word: `idle in transaction`.
    var state: String?

    init?(_ row: [String?]) {
        guard row.count == 7, row[0] != nil || row[1] != nil else { return nil }
        process = row[0]
        preparedName = row[1]
        database = row[2]
        role = row[3]
        application = row[4].flatMap { $0.isEmpty ? nil : $0 }
        seconds = row[5].flatMap { Int($0) }
        state = row[6]
    }

    /// The blocker in words, for a sentence.
    var description: String {
        var facts = [database.map { "database \($0)" }, role.map { "role \($0)" }]
        if preparedName == nil {
            facts.append(application.map { "application \($0)" } ?? "without an application name")
        }
        facts.append(seconds.map { "open for \($0) s" } ?? "since when, members of pg_read_all_stats see")
        facts.append(state)
        let who =
            preparedName.map { "the prepared transaction \(PostgresText.literal($0))" } ?? "process \(process ?? "?")"
        return "\(who) (\(facts.compactMap(\.self).joined(separator: ", ")))"
    }

    /// What ends it.
    var remedy: String {
        if let preparedName {
            let name = PostgresText.literal(preparedName)
            return
                "COMMIT PREPARED \(name); or ROLLBACK PREPARED \(name);\(database.map { " in database \($0)" } ?? "")"
        }
        return "SELECT pg_terminate_backend(\(process ?? "…"));"
    }
}

extension [PostgresBlocker] {
    /// The blockers in words, for a sentence.
    var names: String {
        guard let first else { return "a session that has ended since" }
        return first.description + (count > 1 ? " and \(count - 1) more" : "")
    }

    /// The blockers and what ends them, for the end of a sentence.
    var sentence: String {
        names + (first.map { ". It goes on when that ends, by itself or with \($0.remedy)" } ?? ".")
    }
}

extension PostgresConnection {
    /// The columns of a blocker: `b.pid` is a process, or `p` a prepared transaction.
    ///
    /// Of the sessions of other roles, a role sees times and states only as a member of `pg_read_all_stats`.
    private static let facts = """
        b.pid, p.gid, coalesce(p.database, a.datname), coalesce(p.owner, a.usename), a.application_name,
        extract(epoch FROM clock_timestamp() - coalesce(p.prepared, a.xact_start))::int8, a.state
        """

    /// Prepared transactions with what their locks are known by.
    private static let prepared = """
        SELECT x.*, o.virtualtransaction FROM pg_catalog.pg_prepared_xacts x
        JOIN pg_catalog.pg_locks o ON o.locktype = 'transactionid' AND o.transactionid = x.transaction AND o.pid IS NULL
        """

    /// Finds the blockers of a process of the server.
    ///
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func blockers(ofProcess process: String) async throws -> [PostgresBlocker] {
        // A prepared transaction has locks and no process.
        try await query(
            """
            SELECT DISTINCT \(Self.facts)
            FROM pg_catalog.pg_locks w
            CROSS JOIN LATERAL unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
            LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
            LEFT JOIN pg_catalog.pg_locks h ON b.pid = 0 AND h.pid IS NULL AND h.granted
              AND h.locktype = w.locktype AND h.transactionid IS NOT DISTINCT FROM w.transactionid
              AND h.relation IS NOT DISTINCT FROM w.relation AND h.database IS NOT DISTINCT FROM w.database
            LEFT JOIN (\(Self.prepared)) p ON p.virtualtransaction = h.virtualtransaction
            WHERE w.pid = $1::int4 AND NOT w.granted AND (b.pid <> 0 OR p.gid IS NOT NULL)
            ORDER BY 6 DESC NULLS LAST
            """,
            [process],
            activity: "looking who holds something up"
        ).compactMap { PostgresBlocker($0) }
    }

    /// The processes of the server that make a slot in this database for the role of the connection, and wait.
    ///
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func processesMakingSlots() async throws -> [String] {
        try await query(
            """
            SELECT a.pid FROM pg_catalog.pg_stat_activity a
            WHERE a.datname = pg_catalog.current_database() AND a.usename = current_user AND a.pid <> pg_catalog.pg_backend_pid()
              AND a.state = 'active' AND a.wait_event_type = 'Lock' AND a.query LIKE '%pg_create_logical_replication_slot(%'
            """,
            activity: "looking for slots that are being made"
        ).compactMap { $0.first ?? nil }
    }

    /// Finds the blockers of all readers of a table.
    ///
    /// - Parameter table: Its number.
    /// - Returns: The owner of the lock, or the sessions that wait for it and are let in first, with those that these wait for.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func blockers(ofTable table: PostgresOID) async throws -> [PostgresBlocker] {
        try await query(
            """
            SELECT \(Self.facts)
            FROM pg_catalog.pg_locks l
            CROSS JOIN LATERAL (
              SELECT l.pid AS pid, 0 AS place
              UNION ALL SELECT unnest(pg_catalog.pg_blocking_pids(l.pid)), -1 WHERE NOT l.granted
            ) b
            LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
            LEFT JOIN (\(Self.prepared)) p ON l.pid IS NULL AND p.virtualtransaction = l.virtualtransaction
            WHERE l.locktype = 'relation' AND l.relation = $1::oid AND l.mode = 'AccessExclusiveLock'
              AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
              AND (b.pid <> 0 OR p.gid IS NOT NULL) IS NOT FALSE
            ORDER BY l.granted DESC, b.place
            """,
            ["\(table)"],
            activity: "looking who has a table locked"
        ).compactMap { PostgresBlocker($0) }
    }
}

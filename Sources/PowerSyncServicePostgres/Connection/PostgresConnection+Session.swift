/// The session of the server that a connection has, which a pooler may give to others between two transactions.
extension PostgresConnection {
    /// The setting that a session is known by.
    ///
    /// Each connection begins with a ``token`` of its own in it, together with the other settings. Where another token is, or none,
    /// nothing holds that was set or locked before.
    static let tokenName = "powersync.session"
    /// What the session says of itself, as an expression of SQL.
    static let sessionToken = "current_setting('\(tokenName)', true)"

    /// Whether a statement runs in the session that was opened, as a condition of SQL.
    var isOwnSession: String { "\(Self.sessionToken) = \(PostgresText.literal(token))" }

    /// Checks that statements run in the session that was opened.
    ///
    /// - Returns: The process of the server.
    /// - Throws: ``PostgresError`` with code `noSession` when they do not.
    @discardableResult
    func checkSession(_ activity: String) async throws -> String {
        try await begin("", activity)
    }

    /// Begins a transaction, and checks that it is in the session that was opened.
    ///
    /// - Parameters:
    ///   - transaction: `BEGIN …;`, or nothing.
    ///   - activity: What is being done, for errors.
    /// - Returns: The process of the server.
    /// - Throws: ``PostgresError``, with code `noSession` in another session; the connection is closed then.
    @discardableResult
    func begin(_ transaction: String, _ activity: String) async throws -> String {
        let token = token
        return try await run { libpq in
            let deadline = ContinuousClock.now.advanced(by: Self.statementTimeout)
            try libpq.send(
                "\(transaction) SELECT \(Self.sessionToken), pg_backend_pid()",
                nil,
                until: deadline,
                activity
            )
            let rows = try libpq.receiveAll(until: deadline, activity)
            guard let row = rows.first, row.count == 2, row[0] == token, let process = row[1] else {
                throw PostgresError.noSession(activity)
            }
            return process
        }
    }

    /// How many other connections are opened to see whether a pooler gives each its own session.
    private static let others = 3

    /// Checks that a pooler between this connection and the server, if there is one, gives sessions.
    ///
    /// One transaction after the other may be in the same session by chance. So others are opened meanwhile, which set something in
    /// their session and stay in a transaction: without sessions, one of them gets the session of this connection, or this one gets
    /// another one.
    ///
    /// - Parameters:
    ///   - open: Opens another connection to the same place.
    ///   - activity: What is being done, for errors.
    /// - Throws: ``PostgresError`` with code `noSession`, or an error of connecting.
    func proveSession(opening open: () async throws -> PostgresConnection, _ activity: String) async throws {
        let own = try await checkSession(activity)
        var opened: [PostgresConnection] = []
        defer { for connection in opened { connection.close() } }
        // A server says by which number its process is known, a pooler says another one.
        let count = own == (try await cancellationProcess(activity)) ? 1 : Self.others
        for _ in 0..<count {
            do {
                let other = try await open()
                opened.append(other)
                guard try await other.checkSession(activity) != own else { throw PostgresError.noSession(activity) }
                guard try await other.begin("BEGIN READ ONLY;", activity) != own else {
                    throw PostgresError.noSession(activity)
                }
            } catch let error as PostgresError where error.code == .timeout {
                // All sessions that the pooler may have are taken: a few were seen.
                return
            } catch let error as PostgresError where error.message.contains("transaction blocks not allowed") {
                // In the words of PgBouncer, which lets each statement be a transaction of its own.
                throw PostgresError.noSession(activity)
            }
            guard try await checkSession(activity) == own else { throw PostgresError.noSession(activity) }
        }
    }

    /// The process that this connection would ask to cancel something.
    private func cancellationProcess(_ activity: String) async throws -> String {
        try await run { libpq in "\(libpq.process)" }
    }
}

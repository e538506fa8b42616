package import PowerSyncRules

extension PostgresCheck {
    /// Asks the queries on a connection, and judges what they return.
    ///
    /// - Parameters:
    ///   - connection: A connection to the database.
    ///   - plan: What is synced; `nil` to judge all tables of the publication.
    /// - Returns: The findings, errors first.
    /// - Throws: ``PostgresError``, ``PostgresCatalogError`` or `CancellationError`.
    package func findings(on connection: PostgresConnection, plan: SyncPlan?) async throws -> [PostgresFinding] {
        try findings(
            server: try await connection.query(Self.serverQuery, [slotNamePrefix], activity: "reading the settings"),
            publication: try await connection.query(
                Self.publicationQuery,
                [publication],
                activity: "reading the publication"
            ),
            tables: try await connection.query(Self.tablesQuery, [publication], activity: "reading the tables"),
            plan: plan
        )
    }

    /// What keeps a service from starting: settings of the server, privileges of the role, the publication.
    ///
    /// Slots are not counted: that of the service may be among those that are in use.
    func settingErrors(on connection: PostgresConnection) async throws -> [PostgresFinding] {
        let rows = try await connection.query(Self.serverQuery, [slotNamePrefix], activity: "reading the settings")
        return settingFindings(try PostgresServerState(rows)) + (try await publicationErrors(on: connection))
    }

    /// What is wrong with the publication.
    func publicationErrors(on connection: PostgresConnection) async throws -> [PostgresFinding] {
        let rows = try await connection.query(
            Self.publicationQuery,
            [publication],
            activity: "reading the publication"
        )
        return try publicationFindings(rows)
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

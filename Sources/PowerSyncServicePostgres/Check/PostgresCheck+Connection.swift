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
        if error.code == .connection || error.code == .timeout {
            return "Check hostname and port, that the server listens on more than localhost, and the firewalls between."
        }
        return nil
    }
}

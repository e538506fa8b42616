package import PowerSyncMySQLConnection

/// An account of its own in the server of `scripts/with-mysql`, or in another one, without privileges.
package struct TestAccount: Sendable {
    /// Its name, on all hosts.
    package let name: String
    private let password: String
    private let server: TestMySQL

    /// Makes an account.
    ///
    /// - Parameters:
    ///   - password: With which settings connect.
    ///   - identified: What follows `IDENTIFIED`; `nil`: by the password, with the server's usual plugin.
    ///   - require: What follows, such as `REQUIRE X509`.
    ///   - server: That of `scripts/with-mysql` if there is none.
    /// - Throws: ``TestMySQL/Failure`` when there is no server.
    package init(
        password: String,
        identified: String? = nil,
        require: String = "",
        in server: TestMySQL? = nil
    ) async throws {
        name = "u_\(String(UInt64.random(in: .min ... .max), radix: 36))"
        self.password = password
        self.server = try server ?? .shared()
        let connection = try await self.server.open()
        defer { connection.close() }
        // The session has no sql_mode: a backslash begins an escape.
        let text = password.replacing("\\", with: "\\\\").replacing("'", with: "''")
        try await connection.execute("CREATE USER '\(name)'@'%' IDENTIFIED \(identified ?? "BY '\(text)'") \(require)")
    }

    /// Lets the account read a database and the log, and nothing else.
    package func grantReplication(of database: TestMySQLDatabase) async throws {
        let monitor = TestMySQL.isMySQL ? "REPLICATION CLIENT" : "BINLOG MONITOR, SLAVE MONITOR"
        try await database.run("GRANT REPLICATION SLAVE, \(monitor) ON *.* TO '\(name)'@'%'")
        try await database.run("GRANT SELECT ON \(database.name).* TO '\(name)'@'%'")
    }

    /// Settings of a connection as the account.
    package func settings(
        _ tls: MySQLConnectionSettings.TLSMode = .disabled,
        database: String? = nil
    ) -> MySQLConnectionSettings {
        var account = server
        (account.username, account.password) = (name, password)
        var settings = account.settings(database: database)
        settings.tls = tls
        return settings
    }
}

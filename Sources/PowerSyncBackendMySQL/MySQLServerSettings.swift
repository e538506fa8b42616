import PowerSyncMySQLConnection

/// The server and the schema of an app's tables, and how to connect.
///
/// ```swift
/// let settings = MySQLServerSettings(
///     host: "db.example.com",
///     username: "app",
///     password: password,
///     database: "app",
///     tls: .verified()
/// )
/// ```
public struct MySQLServerSettings: Sendable, CustomStringConvertible, CustomReflectable {
    /// Whether a connection is encrypted, and what is checked.
    public struct TLS: Sendable {
        let mode: MySQLConnectionSettings.TLSMode

        /// Plain text, for servers on the same machine.
        public static let disabled = TLS(mode: .disabled)

        /// Encrypted, with the chain and the name of the server's certificate checked.
        ///
        /// - Parameter authority: The certificates, as PEM text, of the authorities that may have signed it; `nil`: those that the system
        ///   trusts.
        /// - Returns: The setting.
        public static func verified(authority: String? = nil) -> TLS {
            TLS(mode: .verifyFull(.init(authority: authority)))
        }
    }

    /// A name or an address, IPv6 without brackets.
    public var host: String
    /// The port; 3306 unless it is given.
    public var port: Int
    /// The name of the account.
    public var username: String
    /// The password, which may be empty.
    public var password: String
    /// The schema with the app's tables.
    public var database: String
    /// Whether connections are encrypted.
    public var tls: TLS
    /// The most connections at a time, 8 by default; more requests wait, in their order.
    public var maximumConnections = 8
    /// The longest time until a statement has answered: a minute.
    public var statementTimeout = Duration.seconds(60)

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - host: A name or an address.
    ///   - port: The port.
    ///   - username: The name of the account.
    ///   - password: The password.
    ///   - database: The schema with the app's tables.
    ///   - tls: Whether connections are encrypted.
    public init(
        host: String,
        port: Int = 3306,
        username: String,
        password: String,
        database: String,
        tls: TLS
    ) {
        self.host = host
        self.port = port
        self.username = username
        self.password = password
        self.database = database
        self.tls = tls
    }

    /// The account, the server and the schema, without the password.
    public var description: String { "\(username)@\(host):\(port)/\(database)" }

    /// The ``description`` alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var connection: MySQLConnectionSettings {
        var settings = MySQLConnectionSettings(
            host: host,
            port: port,
            username: username,
            password: password,
            database: database,
            tls: tls.mode
        )
        settings.statementTimeout = statementTimeout
        return settings
    }
}

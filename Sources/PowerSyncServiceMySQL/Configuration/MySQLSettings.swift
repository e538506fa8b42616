import PowerSyncServiceCore

/// A MySQL or MariaDB server with a database that is replicated (docs/mysql.md).
///
/// ```swift
/// var settings = MySQLSettings(host: "db.example.com", database: "app", username: "powersync", password: "…")
/// settings.caCertificate = "/etc/ssl/my-ca.pem"
/// let source = ServiceConfiguration.Source.mysql(settings)
/// ```
///
/// Passwords and keys are never printed: the description names the server, the database and the user only.
public struct MySQLSettings: Sendable, Equatable {
    /// How the connection is protected.
    public struct TLSMode: Sendable, Hashable {
        let sslmode: String

        /// Encrypted; the server's certificate must be of an authority that is trusted, and be for its name.
        public static let verifyFull = TLSMode(sslmode: "verify-full")
        /// Encrypted; the server's certificate must be of an authority that is trusted.
        public static let verifyCA = TLSMode(sslmode: "verify-ca")
        /// Not encrypted.
        public static let disable = TLSMode(sslmode: "disable")

        /// All of them.
        static let all = [verifyFull, verifyCA, disable]

        /// Their names, for errors.
        static let names = all.map(\.sslmode).joined(separator: ", ")
    }

    /// Where the settings are in the configuration, for errors.
    package var key = "replication.connections[0]"
    /// The address that was given; its parts count where nothing is written over them.
    package var uri: MySQLConnectionURI?
    /// What is written over the parts of ``uri``.
    package var overrides = MySQLConnectionURI.Parts()

    /// How the connection is protected; `nil` for what the URI says, or else ``TLSMode/verifyFull``.
    public var tls: TLSMode?
    /// The certificates that are trusted: PEM, or the path of a file with it.
    ///
    /// Those of the system when `nil`.
    public var caCertificate: String?
    /// The certificate of the service: PEM, or the path of a file with it.
    public var clientCertificate: String?
    /// The key of ``clientCertificate``: PEM, or the path of a file with it.
    public var clientPrivateKey: String?
    /// The name that the server's certificate must be for; the host when `nil`.
    public var tlsServerName: String?
    /// Where the server must not be: addresses, ranges such as `10.0.0.0/8`, or `local` for this machine and private networks;
    /// nowhere unless it is said otherwise.
    ///
    /// For services whose configuration comes from others.
    public var rejectedAddresses: [String] = []
    /// The first of 8 numbers in a row that no replica of the server has, from 1 to 4294967288: streams read the log as replicas with
    /// these numbers.
    ///
    /// 0, the default, for numbers that are derived from the stream and the storage.
    public var serverID: UInt32 = 0
    /// The most connections for short statements, 8 unless it is said otherwise.
    ///
    /// The copy of a table, the change stream and the reading of single rows have connections of their own, besides these.
    public var maximumPoolSize = 8
    /// The time that a connection may take to be made: 10 seconds unless it is said otherwise.
    public var connectTimeout = Duration.seconds(10)
    /// How often the service looks at the database's catalogue when nothing tells it to: every minute unless it is said otherwise.
    public var heartbeatInterval = Duration.seconds(60)
    /// The bytes of events of the log that may wait to be processed; above them, the service reads no more: 50 MB unless it is said
    /// otherwise.
    public var binlogQueueMemoryLimit = 50 << 20
    /// Whether a table is copied again after an `ALTER` that may have changed values without events in the log: `true` unless it is
    /// said otherwise.
    ///
    /// With `false`, a warning names the table and its columns, and rows keep what they had until they are changed.
    public var copiesAfterAlter = true
    /// Whether rows that are changed by rules of foreign keys, such as `ON DELETE CASCADE`, may stay as they were: `false` unless it
    /// is said otherwise.
    ///
    /// With `true`, a finding names each table that such rules change.
    public var ignoresForeignKeyCascades = false

    /// Creates settings of a URI.
    ///
    /// - Parameter uri: `mysql://user:password@host:port/database`, or the same with `mariadb`. Other characters than letters and
    ///   digits are escaped in user and password: `%40` for `@`.
    public init(uri: String) {
        self.uri = MySQLConnectionURI(uri)
    }

    /// Creates settings of their parts.
    ///
    /// - Parameters:
    ///   - host: The name or the address of the server: the primary itself.
    ///   - port: The port.
    ///   - database: The default schema: that of tables that a sync config names without one.
    ///   - username: The user.
    ///   - password: Its password.
    public init(host: String, port: Int = 3306, database: String, username: String, password: String) {
        overrides = .init(host: host, port: String(port), username: username, password: password, database: database)
    }

    /// The parts of the connection, from the URI and what is written over it.
    package var parts: MySQLConnectionURI.Parts { (uri?.parts ?? .init()).merging(overrides) }
}

extension MySQLSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server, the database and the user: `MySQL app at db.example.com:3306 as powersync`.
    public var description: String {
        let parts = parts
        return """
            MySQL \(parts.database ?? "?") at \(parts.host ?? "?"):\(parts.port ?? "3306") as \(parts.username ?? "?")
            """
    }

    /// As ``description``: nothing that is secret.
    public var debugDescription: String { description }

    /// Nothing, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

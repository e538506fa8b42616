import Foundation

/// A PostgreSQL database that is replicated (docs/postgres.md), or has the storage of the service (docs/postgres-storage.md).
///
/// ```swift
/// var settings = PostgresSettings(uri: "postgresql://powersync:secret@db.example.com:5432/app")
/// settings.caCertificate = "/etc/ssl/my-ca.pem"
/// let source = ServiceConfiguration.Source.postgresql(settings)
/// ```
///
/// Passwords and keys are never printed: the description names the server, the database and the role only.
public struct PostgresSettings: Sendable, Equatable {
    /// How the connection is protected.
    public struct TLSMode: Sendable, Hashable {
        let sslmode: String

        /// Encrypted; the server's certificate must be of an authority that is trusted, and be for its name.
        public static let verifyFull = TLSMode(sslmode: "verify-full")
        /// Encrypted; the server's certificate must be of an authority that is trusted.
        public static let verifyCA = TLSMode(sslmode: "verify-ca")
        /// Encrypted, without a check of the server's identity.
        public static let require = TLSMode(sslmode: "require")
        /// Not encrypted.
        public static let disable = TLSMode(sslmode: "disable")

        /// All of them; with the others of libpq it is the server that says whether anything is encrypted.
        static let all = [verifyFull, verifyCA, require, disable]

        /// Their names, for errors.
        static let names = all.map(\.sslmode).joined(separator: ", ")
    }

    /// Where the settings are in the configuration, for errors.
    package var key = "replication.connections[0]"
    /// What is written over the connection string, by the keywords of libpq.
    package var overrides: [String: String] = [:]
    /// The connection string that was given.
    package var uri: PostgresConnectionString?

    /// How the connection is protected; `nil` for what the URI says, or else ``TLSMode/verifyFull``.
    ///
    /// A URI may name these modes only: `sslmode=prefer` and `sslmode=allow` are refused.
    public var tls: TLSMode?
    /// The certificates that are trusted: PEM, or the path of a file with it.
    ///
    /// Those of the system when `nil`.
    public var caCertificate: String?
    /// The certificate of the service: PEM, or the path of a file with it.
    public var clientCertificate: String?
    /// The key of ``clientCertificate``: PEM, or the path of a file with it.
    public var clientPrivateKey: String?
    /// The name that the server's certificate must be for, when the host is an address.
    public var tlsServerName: String?
    /// Where the server must not be: addresses, ranges such as `10.0.0.0/8`, or `local` for this machine and private networks;
    /// nowhere unless it is said otherwise.
    ///
    /// For services whose configuration comes from others. A Unix socket has no address.
    public var rejectedAddresses: [String] = []
    /// The name of the publication.
    public var publication = "powersync"
    /// What the names of the service's replication slots begin with: lower case letters, digits and `_`.
    public var slotNamePrefix = "powersync_"
    /// The most connections for short statements, 8 unless it is said otherwise.
    ///
    /// The copy of a table and the change stream have connections of their own, besides these.
    public var maximumPoolSize = 8
    /// How often the service looks at the database's catalogue when nothing tells it to, and writes a message to the log when
    /// nothing happens: every minute unless it is said otherwise.
    public var heartbeatInterval = Duration.seconds(60)

    /// Creates settings of a connection string.
    ///
    /// - Parameter uri: `postgresql://user:password@host:port/database`, or what else libpq reads. Other characters than
    ///   letters and digits are escaped in user and password: `%40` for `@`. Parameters for other programs do not count.
    public init(uri: String) {
        self.uri = PostgresConnectionString(uri)
    }

    /// Creates settings of their parts.
    ///
    /// - Parameters:
    ///   - host: The name or the address of the server: the primary itself, not a pooler of transactions.
    ///   - port: The port.
    ///   - database: The name of the database.
    ///   - username: The role.
    ///   - password: Its password; `nil` when the server asks for none.
    public init(host: String, port: Int = 5432, database: String, username: String, password: String?) {
        overrides = ["host": host, "port": String(port), "dbname": database, "user": username]
        overrides["password"] = password
    }
}

extension PostgresSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server, the database and the role: `PostgreSQL app at db.example.com:5432 as powersync`.
    public var description: String {
        let keywords = keywords ?? [:]
        return """
            PostgreSQL \(keywords["dbname"] ?? "?") at \(keywords["host"] ?? "?"):\(keywords["port"] ?? "5432") as \
            \(keywords["user"] ?? "?")
            """
    }

    /// As ``description``: nothing that is secret.
    public var debugDescription: String { description }

    /// Nothing, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Whether a password is written down.
    package var hasPassword: Bool { keywords?["password"] != nil }

    /// The password, as it is and as it stands in a URI, and a line of the private key.
    var secrets: [String] {
        var secrets: [String] = []
        if let password = keywords?["password"] {
            secrets.append(password)
            secrets += [password.addingPercentEncoding(withAllowedCharacters: .alphanumerics)].compactMap { $0 }
        }
        if let key = clientPrivateKey, key.contains("PRIVATE KEY") {
            secrets += key.split(whereSeparator: \.isNewline).dropFirst().prefix(1).map { String($0) }
        }
        return secrets
    }

    /// All keywords of libpq but those of TLS; `nil` when the URI cannot be read.
    package var keywords: [String: String]? {
        guard let uri else { return overrides }
        guard let given = uri.keywords else { return nil }
        return Dictionary(given.map { ($0.name, $0.value) }) { $1 }.merging(overrides) { $1 }
    }
}

package import NIOCore

/// Where a MySQL or MariaDB server is, and how to connect to it.
package struct MySQLConnectionSettings: Sendable {
    /// Certificates and keys, each as PEM text.
    package struct TLS: Sendable, Hashable {
        /// The authorities that may have signed the server's certificate; `nil`: those that the system trusts.
        package var authority: String?
        /// The certificate of the client, with its chain if there is one.
        package var clientCertificate: String?
        /// The private key of ``clientCertificate``.
        package var clientKey: String?
        /// The name that the server's certificate must have; `nil`: ``MySQLConnectionSettings/host``.
        package var serverName: String?

        /// Creates settings.
        package init(
            authority: String? = nil,
            clientCertificate: String? = nil,
            clientKey: String? = nil,
            serverName: String? = nil
        ) {
            self.authority = authority
            self.clientCertificate = clientCertificate
            self.clientKey = clientKey
            self.serverName = serverName
        }
    }

    /// Whether a connection is encrypted, and what is checked.
    package enum TLSMode: Sendable, Hashable {
        /// Plain text. An attacker in the network reads everything, and can get the password of a `caching_sha2_password` account.
        case disabled
        /// The chain of the server's certificate, not its name. A server without TLS is an error.
        case verifyCA(TLS)
        /// The chain and the name of the server's certificate. A server without TLS is an error.
        case verifyFull(TLS)
    }

    /// A name or an address, IPv6 without brackets.
    package var host: String
    /// The port.
    package var port: Int
    /// The account's name, without its host.
    package var username: String
    /// The password, which may be empty.
    package var password: String
    /// The default schema of statements; `nil`: none.
    package var database: String?
    /// Whether connections are encrypted.
    package var tls: TLSMode
    /// The longest time until a connection can be used: name look-up, TCP, TLS, authentication, and the settings of the session.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest time until a statement has answered, and until the first packet of ``MySQLConnection/withRows(_:_:)``.
    package var statementTimeout: Duration = .seconds(60)
    /// The longest time without a byte from the server while rows are waited for.
    package var rowsTimeout: Duration = .seconds(30)
    /// How long the server waits without an event of its log before it sends a heartbeat.
    package var heartbeat: Duration = .seconds(10)
    /// The longest time without a byte of the log, not even of a heartbeat.
    package var logTimeout: Duration = .seconds(35)
    /// Whether an address may be connected to; asked for every address of ``host``.
    package var allows: @Sendable (SocketAddress) -> Bool = { _ in true }

    /// Creates settings.
    package init(
        host: String,
        port: Int = 3306,
        username: String,
        password: String = "",
        database: String? = nil,
        tls: TLSMode
    ) {
        self.host = host
        self.port = port
        self.username = username
        self.password = password
        self.database = database
        self.tls = tls
    }
}

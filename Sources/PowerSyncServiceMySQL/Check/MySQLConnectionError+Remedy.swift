package import PowerSyncMySQLConnection
package import PowerSyncProtocol
import PowerSyncServiceCore

extension MySQLConnectionError: ServerError {
    package var isUnanswered: Bool {
        switch code {
        case .server, .authentication: false
        default: true
        }
    }
}

extension MySQLConnectionError: CataloguedError {
    package var catalogueCode: ErrorCode? {
        switch code {
        case .server where serverCode.map { MySQLServerCode.denials.contains($0) } ?? false: .mysqlPrivilege
        case .server: .sourceQuery
        case .timeout: .sourceTimeout
        default: nil
        }
    }
}

extension MySQLConnectionError {
    /// What mends the way to a server; `nil` when the message says it all.
    var remedy: String? {
        switch code {
        case .server: serverCode.flatMap { Self.remedies[$0] }
        case .unreachable:
            "Check hostname and port, that the server runs, and that it listens on more than localhost (bind_address)."
        case .addressNotAllowed: "Give another address, or take it out of reject_ip_ranges."
        case .noTLS:
            "Switch TLS on at the server, or write sslmode: disable if nobody else can read the network."
        case .certificate:
            """
            Give the certificate of the server's authority as cacert; with a certificate for another name, that name as tls_servername. \
            sslmode: disable is for networks that nobody else can read.
            """
        case .tls: "Check that nothing between the service and the server breaks TLS."
        case .timeout, .silence, .lost:
            "Check that the network lets packets through, and that nothing between the service and the server ends idle connections."
        default: nil
        }
    }

    private static let remedies: [UInt16: String] = [
        MySQLServerCode.accountDenied:
            "Check username and password, and that the account may connect from this machine ('user'@'%').",
        MySQLServerCode.schemaDenied: "GRANT SELECT ON the database TO the user; names are case sensitive.",
        MySQLServerCode.noSuchSchema: "Check the name of the database; names are case sensitive.",
        MySQLServerCode.tooManyConnections: "Raise max_connections of the server, or close other connections.",
        MySQLServerCode.hostBlocked: "FLUSH HOSTS; at the server lets this machine in again.",
        MySQLServerCode.hostNotAllowed: "Make an account that may connect from this machine: 'user'@'%'.",
        MySQLServerCode.secureTransportNeeded: "The account wants TLS: write sslmode: verify-full.",
    ]
}

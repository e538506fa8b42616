/// Why a MySQL or MariaDB server did not do what it was asked for.
///
/// Has the server's own text; never a password, and no value that a statement or a row has.
package struct MySQLConnectionError: Error, Sendable, Hashable {
    /// What went wrong.
    package struct Code: Sendable, Hashable {
        private enum Value: String {
            case server, unreachable, addressNotAllowed, noTLS, certificate, tls, authentication, configuration,
                protocolViolation
            case timeout, silence, lost, closed, busy
        }
        private let value: Value

        /// The server has refused it; there is a ``MySQLConnectionError/serverCode``.
        package static let server = Code(value: .server)
        /// There is no such host, or no connection to it.
        package static let unreachable = Code(value: .unreachable)
        /// All addresses of the host are refused by ``MySQLConnectionSettings/allows``.
        package static let addressNotAllowed = Code(value: .addressNotAllowed)
        /// The server offers no TLS, and the settings want it.
        ///
        /// Nothing that depends on the password was sent.
        package static let noTLS = Code(value: .noTLS)
        /// The server's certificate is not trusted, or is for another name.
        package static let certificate = Code(value: .certificate)
        /// TLS failed for another reason.
        package static let tls = Code(value: .tls)
        /// The account has an authentication plugin that is not supported.
        package static let authentication = Code(value: .authentication)
        /// A certificate or a key in the settings cannot be read.
        package static let configuration = Code(value: .configuration)
        /// What the server sent is not the protocol.
        package static let protocolViolation = Code(value: .protocolViolation)
        /// The server has not answered in time.
        package static let timeout = Code(value: .timeout)
        /// Nothing came from the server for too long, not even a heartbeat.
        package static let silence = Code(value: .silence)
        /// The connection was lost, or the server has closed it.
        package static let lost = Code(value: .lost)
        /// The connection was closed on this side.
        package static let closed = Code(value: .closed)
        /// The connection is in use by another call.
        package static let busy = Code(value: .busy)
    }

    /// What went wrong.
    package let code: Code
    /// A sentence.
    package let message: String
    /// The server's number, such as 1236; `nil` when the error does not come from the server.
    package let serverCode: UInt16?
    /// The server's code of five characters, such as `42S02`; `nil` when there is none.
    package let sqlState: String?

    /// Creates an error.
    package init(_ code: Code, _ message: String, serverCode: UInt16? = nil, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.sqlState = sqlState
    }

    /// The error of a server.
    ///
    /// - Parameters:
    ///   - serverCode: Its number.
    ///   - sqlState: Its code of five characters.
    ///   - message: Its text; what that quotes is left out where it may be a value.
    /// - Returns: The error.
    package static func server(_ serverCode: UInt16, sqlState: String?, _ message: String) -> MySQLConnectionError {
        MySQLConnectionError(
            .server,
            withoutValues(message, serverCode: serverCode, sqlState: sqlState),
            serverCode: serverCode,
            sqlState: sqlState
        )
    }

    /// Whether the same may succeed a little later without a change of the settings or the server's.
    package var isRetryable: Bool {
        switch code {
        case .unreachable, .timeout, .silence, .lost, .tls: true
        case .server: serverCode.map { Self.passing.contains($0) } ?? false
        default: false
        }
    }

    /// Too many connections, shutdown, out of connections of the account, lock wait, deadlock, the statement was ended, aborted
    /// connections, and a dump that another one has ended.
    private static let passing: Set<UInt16> = [
        1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1226, 1317, 1927, 3024, 3169, 4031,
        4052,
    ]

    /// A message without what it quotes: data errors (SQLSTATE 22, 23) quote values, and syntax errors (1064) a part of the statement.
    private static func withoutValues(_ message: String, serverCode: UInt16, sqlState: String?) -> String {
        let hasValues = serverCode == 1064 || ["22", "23"].contains(sqlState?.prefix(2) ?? "")
        guard hasValues, let first = message.firstIndex(of: "'"), let last = message.lastIndex(of: "'"), first < last
        else {
            return message
        }
        return "\(message[...first])…\(message[last...])"
    }
}

extension MySQLConnectionError: CustomStringConvertible {
    package var description: String {
        guard let serverCode else { return message }
        return "\(message) (error \(serverCode)\(sqlState.map { ", SQLSTATE \($0)" } ?? ""))"
    }
}

import MySQLNIO
import NIOCore
import NIOPosix
import NIOSSL

extension MySQLConnectionError {
    /// Why there is no connection.
    init(connecting error: any Error, to settings: MySQLConnectionSettings) {
        let place = "\(settings.host):\(settings.port)"
        guard let error = error as? NIOConnectionError else {
            self.init(.unreachable, "There is no connection to \(place): \(Self.reason(error)).")
            return
        }
        let failures = error.connectionErrors.map(\.error)
        if failures.isEmpty {
            self.init(.unreachable, "There is no host \(settings.host).")
        } else if failures.allSatisfy({ $0 is SocketHandler.AddressNotAllowed }) {
            self.init(.addressNotAllowed, "\(settings.host) has only addresses that are not allowed.")
        } else {
            let reason = failures.last { !($0 is SocketHandler.AddressNotAllowed) }.map(Self.reason) ?? ""
            self.init(.unreachable, "There is no connection to \(place): \(reason).")
        }
    }

    /// Why a connection ended.
    ///
    /// - Parameters:
    ///   - error: Of the channel.
    ///   - certificate: The server's, if it has shown one.
    init(socket error: any Error, certificate: NIOSSLCertificate?) {
        switch error {
        case let error as MySQLConnectionError:
            self = error
        case NIOSSLError.uncleanShutdown:
            self.init(.lost, "The server has closed the connection.")
        case NIOSSLError.handshakeFailed(.sslError(let stack)) where "\(stack)".contains("CERTIFICATE_VERIFY_FAILED"):
            self.init(.certificate, Self.untrusted(certificate))
        case NIOSSLError.handshakeFailed:
            self.init(.tls, "The TLS handshake with the server failed.")
        case NIOSSLError.unableToValidateCertificate, NIOSSLError.noCertificateToValidate:
            self.init(.certificate, Self.untrusted(certificate))
        case let error as NIOSSLExtraError
        where error == .failedToValidateHostname || error == .serverHostnameImpossibleToMatch:
            self = Self.certificateForAnotherName
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self.init(.tls, "TLS with the server failed.")
        case is IOError, is ChannelError:
            self.init(.lost, "The connection was lost: \(Self.reason(error)).")
        default:
            self.init(.protocolViolation, "What the server sent is not the protocol of MySQL.")
        }
    }

    /// The error of a certificate that is right but for its name.
    static let certificateForAnotherName = MySQLConnectionError(
        .certificate,
        """
        The server's certificate is for another name. Connect by the name that it has, give that as the server name for TLS, or check the \
        certificate without its name.
        """
    )

    /// What is wrong with a certificate of an authority that is not known.
    private static func untrusted(_ certificate: NIOSSLCertificate?) -> String {
        let issuer = (try? certificate?.toDERBytes()).flatMap { CertificateNames($0)?.issuer }
        return """
            The server's certificate is not trusted. Its issuer is \(issuer.map { "“\($0)”" } ?? "not known"): give the certificate of \
            that authority as `cacert`, or a certificate for the server that the system trusts.
            """
    }

    /// A reason of the network as a part of a sentence.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError where error.errnoCode == ECONNREFUSED: "the connection was refused"
        case let error as IOError where error.errnoCode == ECONNRESET: "it was reset"
        case let error as IOError where error.errnoCode == ETIMEDOUT: "nothing answered"
        case let error as IOError where [EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode): "there is no way to it"
        case let error as IOError: "error \(error.errnoCode) of the system"
        case ChannelError.connectTimeout: "nothing answered in time"
        case is SocketHandler.AddressNotAllowed: "its address is not allowed"
        default: "it ended"
        }
    }
}

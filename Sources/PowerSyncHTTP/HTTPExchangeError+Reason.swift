import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension HTTPExchangeError {
    /// What has happened to a connection, as the end of a sentence for people: `the connection was refused`.
    ///
    /// The errors of NIO and of BoringSSL print their types, numbers, and lines of their sources.
    ///
    /// - Parameter error: An error of an exchange, or of a connection of NIO.
    /// - Returns: `nil` for an error that has a text of its own, or is about something else.
    package static func reason(_ error: any Error) -> String? {
        switch error {
        case let error as HTTPExchangeError: error.underlyingError.flatMap(reason)
        case let error as NIOConnectionError:
            error.connectionErrors.last.map { reason($0.error) }
                ?? (error.dnsAError ?? error.dnsAAAAError).flatMap(reason) ?? reason(ofLookup: nil)
        case let error as SocketAddressError.UnknownHost: reason(ofLookup: error.errorCode)
        case let error as IOError: reason(ofSystem: error.errnoCode)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "the certificate is for another host"
        case NIOSSLError.handshakeFailed(let cause): reason(ofHandshake: "\(cause)")
        case NIOSSLError.uncleanShutdown: "the connection was closed"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: "the encryption of the connection failed"
        case ChannelError.connectTimeout: "nothing answered in time"
        case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed, ChannelError.inputClosed,
            ChannelError.outputClosed, ChannelError.eof:
            "the connection was closed"
        case HTTPParserError.invalidEOFState: "the connection was closed in the middle of the answer"
        case is HTTPParserError: "the answer is not HTTP"
        default: nil
        }
    }

    /// What a code of `getaddrinfo` says: the name may be right, and nobody there to ask, as on a device without a network.
    package static func reason(ofLookup code: Int?) -> String {
        code == Int(EAI_NONAME) ? "there is no host of that name" : "the host could not be looked up"
    }

    private static func reason(ofSystem code: CInt) -> String? {
        switch code {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET, ECONNABORTED: "the connection was reset"
        case EPIPE, ENOTCONN: "the connection was closed"
        case ETIMEDOUT: "nothing answered"
        case EHOSTUNREACH, ENETUNREACH: "there is no way to the host"
        default: nil
        }
    }

    /// What BoringSSL says of a handshake: `[Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at …]`.
    private static func reason(ofHandshake text: String) -> String {
        let mark = "OPENSSL_internal:"
        let name = text.firstRange(of: mark).map {
            text[$0.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        }
        switch name {
        case "CERTIFICATE_VERIFY_FAILED": return "the certificate is not trusted"
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST":
            return "the other end does not speak TLS; its address may begin with http:// or ws://"
        case let name?:
            return "the TLS handshake failed: \(name.lowercased().split(separator: "_").joined(separator: " "))"
        case nil: return "the TLS handshake failed"
        }
    }
}

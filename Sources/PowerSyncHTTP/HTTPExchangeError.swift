/// Why there is no answer, or only a part of one.
package struct HTTPExchangeError: Error, Sendable {
    /// The kinds of failures, as far as somebody treats them differently.
    package enum Code: Sendable, Hashable {
        /// There is no connection, or it broke.
        case connection
        /// Nothing moved for too long.
        case timeout
        /// The other side closed the connection in the middle of the body.
        case closedEarly
        /// The certificate is of an authority that is not trusted, or not valid now.
        case untrustedCertificate
        /// The certificate names another host.
        case certificateOfAnotherHost
        /// The body is not what its content coding says, or a file has several members, which the exchange cannot read.
        case malformedCompression
        /// The body has more than so many bytes.
        case tooLong(Int)
        /// More than so many bytes have arrived before anybody read them.
        case unread(Int)
        /// The URL cannot be used.
        case invalidURL
        /// The name or the value of a header has characters that do not belong there.
        case invalidHeader
    }

    /// What kind of failure this is.
    package let code: Code
    /// What caused it.
    package let underlyingError: (any Error)?

    /// Creates an error.
    package init(_ code: Code, underlyingError: (any Error)? = nil) {
        self.code = code
        self.underlyingError = underlyingError
    }
}

extension HTTPExchangeError: CustomStringConvertible {
    /// The cause, or what the code says.
    package var description: String {
        if let underlyingError { return Self.reason(underlyingError) ?? "\(underlyingError)" }
        return switch code {
        case .connection: "the connection broke"
        case .timeout: "nothing was sent or received for too long"
        case .closedEarly: "the connection was closed before the end of the answer"
        case .untrustedCertificate: "the certificate is not trusted"
        case .certificateOfAnotherHost: "the certificate is for another host"
        case .malformedCompression: "the answer is compressed in a way that cannot be read"
        case .tooLong(let limit): "the answer has more than \(limit) bytes"
        case .unread(let limit):
            "more than \(limit) bytes arrived before they were read, and URLSession cannot wait here"
        case .invalidURL: "the URL cannot be used"
        case .invalidHeader: "a header has characters that do not belong there"
        }
    }
}

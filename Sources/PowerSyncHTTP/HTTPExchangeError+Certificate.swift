import NIOSSL

extension HTTPExchangeError {
    /// What is wrong with a certificate; `nil` when an error is about something else.
    ///
    /// - Parameter error: An error of an exchange, or of a connection of NIO.
    /// - Returns: ``Code/untrustedCertificate``, ``Code/certificateOfAnotherHost`` or `nil`.
    package static func certificateProblem(_ error: any Error) -> Code? {
        switch error {
        case let error as HTTPExchangeError
        where [.untrustedCertificate, .certificateOfAnotherHost].contains(error.code):
            error.code
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .certificateOfAnotherHost
        // The library of BoringSSL has no type for this.
        case NIOSSLError.handshakeFailed(let reason) where "\(reason)".contains("CERTIFICATE_VERIFY_FAILED"):
            .untrustedCertificate
        default: nil
        }
    }
}

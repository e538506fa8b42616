import PowerSyncHTTP

extension SyncTransportError {
    /// No connection could be made.
    ///
    /// - Parameters:
    ///   - target: Where to, and with which method.
    ///   - error: Why not. If it is about the certificate of the service, the message says what is wrong with it.
    init(connecting target: String, _ error: any Error) {
        let problem: String? =
            switch HTTPExchangeError.certificateProblem(error) {
            case .certificateOfAnotherHost?:
                "the certificate of the service is for another host"
            case .untrustedCertificate?:
                "the certificate of the service is not trusted: it has expired, or comes from an unknown authority "
                    + "(for an authority of your own, see SyncClientConfiguration.trustedAuthorities)"
            default: nil
            }
        self.init(
            .connection,
            message: problem.map { "\(target) failed: \($0)" } ?? "\(target) failed",
            underlyingError: error
        )
    }
}

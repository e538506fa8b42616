import NIOSSL

/// The only authorities whose certificates a sync service may have, for services that do not have one of a public
/// authority.
///
/// ```swift
/// let authorities = try TrustedAuthorities(pem: try String(contentsOf: certificateURL, encoding: .utf8))
/// options.clientConfiguration = SyncClientConfiguration(trustedAuthorities: authorities)
/// ```
///
/// Names and dates of certificates are checked as ever.
public struct TrustedAuthorities: Sendable, Hashable {
    /// What the authorities sign with.
    let certificates: [NIOSSLCertificate]

    /// Reads certificates of authorities.
    ///
    /// - Parameter pem: One or more certificates, each between its `BEGIN CERTIFICATE` and `END CERTIFICATE` lines.
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there is none, or one cannot be read.
    public init(pem: String) throws {
        do {
            certificates = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        } catch {
            throw PowerSyncError.notCertificates(error)
        }
        guard !certificates.isEmpty else {
            throw PowerSyncError.noCertificates
        }
    }

    /// The settings for connections to a service.
    var tlsConfiguration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(certificates)
        return configuration
    }
}

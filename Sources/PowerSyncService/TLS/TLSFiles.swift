/// The files of a certificate, for a service that speaks TLS itself (docs/operating.md "TLS").
///
/// ```swift
/// configuration.tls = TLSFiles(certificate: "/etc/powersync/fullchain.pem", privateKey: "/etc/powersync/privkey.pem")
/// ```
///
/// Both may be replaced while the service runs.
public struct TLSFiles: Sendable, Equatable {
    /// The path of the certificate and those between it and its authority, in PEM, that of the service first.
    public var certificate: String
    /// The path of the private key of the certificate, in PEM, without a passphrase.
    public var privateKey: String

    /// Creates the paths of two files.
    public init(certificate: String, privateKey: String) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}

extension TLSFiles {
    /// What the two files are at a moment.
    struct Stamps: Equatable, Sendable {
        private let certificate: FileStamp
        private let privateKey: FileStamp

        /// `nil` while one of them is missing.
        init?(_ files: TLSFiles) {
            guard let certificate = FileStamp(path: files.certificate),
                let privateKey = FileStamp(path: files.privateKey)
            else { return nil }
            self.certificate = certificate
            self.privateKey = privateKey
        }
    }
}

import NIOCore
import NIOSSL

extension MySQLConnectionSettings.TLSMode {
    /// What TLS is done with; `nil` if it is disabled.
    ///
    /// - Throws: ``MySQLConnectionError`` `.configuration` for a certificate or a key that cannot be read.
    func makeContext() throws -> NIOSSLContext? {
        switch self {
        case .disabled: nil
        case .verifyCA(let tls): try tls.makeContext(.noHostnameVerification)
        case .verifyFull(let tls): try tls.makeContext(.fullVerification)
        }
    }
}

extension MySQLConnectionSettings.TLS {
    fileprivate func makeContext(_ verification: CertificateVerification) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = verification
        configuration.minimumTLSVersion = .tlsv12
        if let authority {
            configuration.trustRoots = .certificates(try Self.certificates(authority, "of the authority"))
        }
        if let clientCertificate {
            configuration.certificateChain = try Self.certificates(clientCertificate, "of the client").map {
                .certificate($0)
            }
        }
        if let clientKey {
            guard let key = try? NIOSSLPrivateKey(bytes: Array(clientKey.utf8), format: .pem) else {
                throw MySQLConnectionError(.configuration, "The private key of the client is not one in PEM form.")
            }
            configuration.privateKey = .privateKey(key)
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw MySQLConnectionError(.configuration, "The certificate of the client and its private key do not fit.")
        }
        return context
    }

    private static func certificates(_ text: String, _ owner: String) throws -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8)), !certificates.isEmpty else {
            throw MySQLConnectionError(.configuration, "The certificate \(owner) is not one in PEM form.")
        }
        return certificates
    }
}

extension MySQLConnectionSettings {
    /// The name that TLS tells the server, and whether its certificate must have it.
    var serverName: ServerName {
        let name: String?
        let isChecked: Bool
        switch tls {
        case .disabled: (name, isChecked) = (nil, false)
        case .verifyCA(let tls): (name, isChecked) = (tls.serverName, false)
        case .verifyFull(let tls): (name, isChecked) = (tls.serverName, true)
        }
        let text = name ?? host
        guard (try? SocketAddress(ipAddress: text, port: port)) == nil else { return .address }
        return isChecked ? .checked(text) : .told(text)
    }
}

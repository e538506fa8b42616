package import Foundation
import NIOConcurrencyHelpers
import NIOSSL

/// The certificate that new connections get.
///
/// A connection keeps the one that it has begun with.
package final class ServerCertificate: Sendable {
    /// A certificate that can be used.
    package struct Loaded: Sendable {
        /// With what connections are encrypted.
        let context: NIOSSLContext
        /// For how long.
        package let validity: CertificateValidity
    }

    /// Where it comes from.
    let files: TLSFiles
    /// What the files were before they were read for the first time; `nil` when one was missing.
    let stamps: TLSFiles.Stamps?
    private let loaded: NIOLockedValueBox<Loaded>

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - files: The files.
    ///   - now: The certificate has to be valid at this time.
    /// - Throws: ``ServiceError`` with code `invalidConfiguration` that names the file and says what is wrong with it.
    init(_ files: TLSFiles, now: Date) throws(ServiceError) {
        self.files = files
        stamps = TLSFiles.Stamps(files)
        loaded = NIOLockedValueBox(try Self.load(files, now: now))
    }

    /// The certificate for new connections.
    var current: Loaded { loaded.withLockedValue { $0 } }

    /// Gives each connection that begins the context of the certificate that is current then.
    var contexts: @Sendable () -> NIOSSLContext { { self.current.context } }

    /// Reads the files again.
    ///
    /// - Parameter now: The certificate has to be valid at this time.
    /// - Throws: As ``init(_:now:)``; then the present certificate stays.
    func reload(now: Date) throws(ServiceError) {
        let next = try Self.load(files, now: now)
        loaded.withLockedValue { $0 = next }
    }

    /// The ciphers of TLS 1.2 (RFC 9325, 4.2): each connection has keys of its own, which the certificate's key does not tell, and
    /// records are authenticated as they are encrypted.
    ///
    /// The defaults of NIOSSL have static RSA and CBC, too. Those of TLS 1.3 are all like that, and not for choosing.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// Reads files, and makes sure that they go together.
    package static func load(_ files: TLSFiles, now: Date) throws(ServiceError) -> Loaded {
        let chain = try certificates(files.certificate)
        let validity = CertificateValidity(chain[0], file: files.certificate)
        switch validity.state(at: now) {
        case .valid, .endsSoon: break
        case .ended, .notBegun: throw error("certificate", validity.problem(at: now) ?? "not valid")
        }
        let key = try privateKey(files.privateKey)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.applicationProtocols = ["http/1.1"]
        // Older versions are broken (RFC 8996), and the default.
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = cipherSuites
        do {
            return Loaded(context: try NIOSSLContext(configuration: configuration), validity: validity)
        } catch {
            throw Self.error(
                "private_key",
                """
                the key in \(files.privateKey) does not go with the certificate in \(files.certificate); give the key that it was \
                made with, and the certificate of the service first in its file
                """
            )
        }
    }

    private static func certificates(_ file: String) throws(ServiceError) -> [NIOSSLCertificate] {
        let bytes = try read(file, "certificate")
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), !chain.isEmpty else {
            throw error("certificate", "\(file) has no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
        }
        return chain
    }

    private static func privateKey(_ file: String) throws(ServiceError) -> NIOSSLPrivateKey {
        let bytes = try read(file, "private_key")
        do {
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch {
            throw Self.error(
                "private_key",
                "\(file) has no private key in PEM form (-----BEGIN PRIVATE KEY-----), without a passphrase"
            )
        }
    }

    private static func read(_ file: String, _ key: String) throws(ServiceError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: file)))
        } catch {
            throw Self.error(key, "\(file) cannot be read; check that it exists, and that the service may read it")
        }
    }

    private static func error(_ key: String, _ message: String) -> ServiceError {
        ServiceError(.invalidConfiguration, message, key: "tls.\(key)")
    }
}

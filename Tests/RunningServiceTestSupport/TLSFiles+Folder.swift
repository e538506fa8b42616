import Foundation
package import PowerSyncService
package import TestSupport

extension TLSFiles {
    /// Writes a certificate and a key into a folder, over those that are there.
    package init(
        in folder: TemporaryFolder,
        certificate: String = LoopbackCertificates.loopback,
        key: String = LoopbackCertificates.loopbackKey
    ) throws {
        self.init(certificate: folder.path("cert.pem"), privateKey: folder.path("key.pem"))
        try certificate.write(toFile: self.certificate, atomically: true, encoding: .utf8)
        try key.write(toFile: self.privateKey, atomically: true, encoding: .utf8)
    }
}

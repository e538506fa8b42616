package import Foundation
import NIOSSL

/// For how long a certificate can be used.
package struct CertificateValidity: Sendable, Equatable {
    /// What is said about a certificate.
    enum State: Equatable {
        case valid
        /// It has to be renewed soon.
        case endsSoon
        case ended
        case notBegun
    }

    /// For this long before the end, there are warnings: 14 days, in seconds.
    static let warningTime = 14.0 * 24 * 3600

    /// The file.
    let file: String
    /// From when on it is valid.
    let begin: Date
    /// Until when it is valid.
    package let end: Date

    /// Where a certificate stands at a time.
    func state(at now: Date) -> State {
        if now < begin { return .notBegun }
        if now >= end { return .ended }
        return end.timeIntervalSince(now) < Self.warningTime ? .endsSoon : .valid
    }

    /// What has to be done about it, and why; `nil` for a certificate that is valid for longer.
    package func problem(at now: Date) -> String? {
        switch state(at: now) {
        case .valid: nil
        case .endsSoon:
            "the certificate in \(file) is valid until \(Self.text(end)) only; renew it, a running service takes up the new files"
        case .ended: "the certificate in \(file) was valid until \(Self.text(end)); renew it"
        case .notBegun:
            "the certificate in \(file) is valid from \(Self.text(begin)) on; use another one, or set the clock of this machine"
        }
    }

    /// When it ends, as people and tools read it.
    package var endText: String { Self.text(end) }

    private static func text(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension CertificateValidity {
    /// Reads it from a certificate of a file.
    init(_ certificate: NIOSSLCertificate, file: String) {
        self.file = file
        begin = Date(timeIntervalSince1970: TimeInterval(certificate.notValidBefore))
        end = Date(timeIntervalSince1970: TimeInterval(certificate.notValidAfter))
    }
}

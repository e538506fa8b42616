import NIOSSL

/// The name of a server in TLS.
enum ServerName: Sendable {
    /// It has none: TLS compares its address.
    case address
    /// One that the server is told, and that is not compared.
    case told(String)
    /// One that the server's certificate must have.
    case checked(String)

    /// What the server is told.
    var text: String? {
        switch self {
        case .address: nil
        case .told(let name), .checked(let name): name
        }
    }

    /// What is wrong with a certificate that TLS has accepted.
    ///
    /// TLS of NIO is content with the address that it is connected to, even if a name was given. Whoever answers for the name in DNS
    /// chooses that address, and may have a certificate for it.
    func problem(with certificate: NIOSSLCertificate?) -> MySQLConnectionError? {
        guard case .checked(let name) = self, let names = certificate?._subjectAlternativeNames(), !names.isEmpty else {
            return nil
        }
        let isThere = names.contains { other in
            other.nameType == .dnsName && Self.matches(String(decoding: other.contents, as: UTF8.self), name)
        }
        return isThere ? nil : MySQLConnectionError.certificateForAnotherName
    }

    /// Whether a name of a certificate stands for a name: without regard to case, `*` for its first label.
    private static func matches(_ pattern: String, _ name: String) -> Bool {
        var pattern = pattern.lowercased()
        var name = name.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        guard pattern.hasPrefix("*.") else { return pattern == name }
        guard let point = name.firstIndex(of: "."), point != name.startIndex else { return false }
        pattern.removeFirst()
        return name[point...] == pattern
    }
}

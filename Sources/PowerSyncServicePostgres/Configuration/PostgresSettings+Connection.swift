import Crypto
import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncServiceCore

/// Makes the connection string for libpq.
extension PostgresSettings {
    /// Where systems keep the certificates that they trust.
    private static let systemCertificates = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem", "/opt/homebrew/etc/ca-certificates/cert.pem",
    ]

    /// The connection string, with everything that protects the connection.
    ///
    /// - Returns: What libpq needs. PEM that was given as text is written to a folder of this process, which only its user
    ///   can read: libpq takes files.
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`, without any value.
    package func connectionString() throws(ServiceError) -> PostgresConnectionString {
        var keywords = try checkedKeywords()
        let mode = try effectiveMode(keywords).sslmode
        keywords["sslmode"] = mode
        if let tlsServerName {
            guard let host = keywords["host"], Self.isAddress(host) else {
                throw error(
                    "tls_servername",
                    "only for a hostname that is an address; leave it out, or write the address as hostname"
                )
            }
            keywords["hostaddr"] = host
            keywords["host"] = tlsServerName
        }
        if let caCertificate {
            keywords["sslrootcert"] = try file(caCertificate, "cacert")
        } else if mode.hasPrefix("verify"), keywords["sslrootcert"] == nil {
            let trusted = Self.systemCertificates.first { FileManager.default.isReadableFile(atPath: $0) }
            guard let trusted else {
                throw error(
                    "cacert",
                    "missing, and this system has no certificates that are trusted; give those of the server's authority",
                    .authorityMissing
                )
            }
            keywords["sslrootcert"] = trusted
        }
        guard (clientCertificate == nil) == (clientPrivateKey == nil) else {
            throw error(
                clientCertificate == nil ? "client_certificate" : "client_private_key",
                "missing; give client_certificate and client_private_key, or none of them"
            )
        }
        if let clientCertificate { keywords["sslcert"] = try file(clientCertificate, "client_certificate") }
        if let clientPrivateKey { keywords["sslkey"] = try file(clientPrivateKey, "client_private_key") }
        var string = PostgresConnectionString(keywords: keywords.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        for range in rejectedAddresses where !string.rejectedAddresses.insert(range) {
            throw error(
                "reject_ip_ranges",
                "\"\(range)\" is not an address range such as 10.0.0.0/8, and not \"local\""
            )
        }
        return string
    }

    /// The keywords without those of TLS, with everything that is needed.
    private func checkedKeywords() throws(ServiceError) -> [String: String] {
        if let problem = uri?.problem { throw error("uri", problem.text, .notADatabaseURI) }
        let keywords = keywords ?? [:]
        for (keyword, key, code) in [
            ("host", "hostname", ErrorCode.hostMissing), ("dbname", "database", .databaseMissing),
            ("user", "username", .userMissing),
        ] {
            let isElsewhere = keyword == "host" && keywords["hostaddr"] != nil
            guard let value = keywords[keyword], !value.isEmpty else {
                guard isElsewhere else {
                    throw error(
                        key,
                        "missing; give it here or in uri: postgresql://user:password@host:5432/database",
                        code
                    )
                }
                continue
            }
            // Messages show these, so that they must not have a password.
            guard !value.contains("://"), keyword != "host" || !value.dropFirst().contains("@") else {
                let place = overrides[keyword] == nil ? "uri" : key
                throw error(place, "is or has a whole URI; write it as uri, and here the name alone", .notADatabaseURI)
            }
        }
        let ports = (keywords["port"] ?? "5432").split(separator: ",", omittingEmptySubsequences: false)
        guard ports.allSatisfy({ UInt16($0).map { $0 > 0 } == true }) else {
            throw error(
                overrides["port"] == nil ? "uri" : "port",
                "the port is not a number between 1 and 65535; write host:5432",
                .notAPort
            )
        }
        return keywords
    }

    /// The protection of the connection, from any place of the configuration.
    private func effectiveMode(_ keywords: [String: String]) throws(ServiceError) -> TLSMode {
        if let tls { return tls }
        guard let name = keywords["sslmode"] else { return .verifyFull }
        guard let mode = TLSMode.all.first(where: { $0.sslmode == name }) else {
            throw error(
                "uri",
                "its parameter sslmode is not one of \(TLSMode.names); with allow and prefer, nothing may be encrypted"
            )
        }
        return mode
    }

    /// What is not safe about how the connection is protected, with the key that says so; `nil` when all is well, or not allowed.
    var protectionWarning: (key: String, message: String)? {
        guard let keywords, let mode = try? effectiveMode(keywords) else { return nil }
        let message: String
        if mode == .require {
            message = "\"require\" does not check who answers; use verify-full"
        } else if mode == .disable, !Self.isThisMachine(keywords) {
            message = "\"disable\" encrypts nothing; use verify-full, unless nobody else can read the network"
        } else {
            return nil
        }
        if tls == nil { return (key: "uri", message: "its parameter sslmode: \(message)") }
        return (key: "sslmode", message: message)
    }

    /// Whether nothing of the connection is on a network: each host is a socket in the file system, or a name of this machine.
    private static func isThisMachine(_ keywords: [String: String]) -> Bool {
        let hosts = keywords["hostaddr"] ?? keywords["host"] ?? ""
        return hosts.split(separator: ",").allSatisfy { host in
            ["localhost", "::1"].contains(host) || host.hasPrefix("/") || host.hasPrefix("@")
                || host.hasPrefix("127.") && isAddress(String(host))
        }
    }

    private func error(_ key: String, _ message: String, _ code: ErrorCode? = nil) -> ServiceError {
        ServiceError(
            .invalidConfiguration,
            message,
            key: "\(self.key).\(key)",
            catalogueCode: code
        )
    }

    private static func isAddress(_ host: String) -> Bool {
        host.utf8.contains(UInt8(ascii: ":"))
            || host.split(separator: ".", omittingEmptySubsequences: false).count == 4
                && host.split(separator: ".").allSatisfy { UInt8($0) != nil }
    }

    // MARK: Files

    /// The folder of this process for PEM that was given as text.
    private static let folder: URL? = {
        let template = FileManager.default.temporaryDirectory.appending(path: "powersync-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: template,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            return template
        } catch {
            return nil
        }
    }()

    /// Held while a file is made: a reader that finds one finds all of it.
    private static let folderLock = NIOLock()

    private func file(_ certificate: String, _ key: String) throws(ServiceError) -> String {
        guard certificate.contains("-----BEGIN") else {
            guard FileManager.default.isReadableFile(atPath: certificate) else {
                throw error(key, "cannot be read; give PEM, or the path of a file that the service may read")
            }
            return certificate
        }
        guard let path = Self.path(of: Data(certificate.utf8), key) else {
            throw error(
                key,
                "cannot be written to the system's temporary folder, where libpq reads it; give the path of a file"
            )
        }
        return path
    }

    /// The file with some contents, which is made if it is not there; `nil` when it cannot be.
    ///
    /// It has the name of its contents: a configuration that is read again, or another connection, takes nothing away
    /// from what connections are made with.
    private static func path(of contents: Data, _ key: String) -> String? {
        let digest = SHA256.hash(data: contents).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        .joined()
        guard let file = folder?.appending(path: "\(key).\(digest).pem") else { return nil }
        let path = file.path(percentEncoded: false)
        let isThere = folderLock.withLock {
            FileManager.default.fileExists(atPath: path)
                || FileManager.default.createFile(
                    atPath: path,
                    contents: contents,
                    attributes: [.posixPermissions: 0o600]
                )
        }
        return isThere ? path : nil
    }
}

extension PostgresConnectionString.Problem {
    /// What is wrong, and what to write.
    fileprivate var text: String {
        let form = "postgresql://user:password@host:5432/database"
        return switch self {
        case .ambiguous:
            """
            has an @ that is not the one before the host, so that it cannot be told where the password ends; write %40 for each @ in user, \
            password and parameters, and %2F for each /
            """
        case .scheme(let scheme): "begins with \(scheme)://; write \(form)"
        case .escape: "has a % that two hexadecimal digits do not follow; write %25 for a %, %40 for an @, %2F for a /"
        case .parameter("ssl"): "not a connection URI of libpq: instead of its parameter ssl, write sslmode=verify-full"
        case .parameter(let name):
            "not a connection URI of libpq, which does not know its parameter \(name); leave it out"
        case .schema(let name):
            "its parameter names the schema \(name); leave it out, and write the schema in the queries of the sync config"
        case .unreadable: "not a connection URI; write \(form)"
        }
    }
}

import Foundation
package import PowerSyncMySQLConnection
import PowerSyncProtocol
package import PowerSyncServiceCore

/// Makes the settings of connections.
extension MySQLSettings {
    /// The largest ``serverID``: 8 numbers in a row have 32 bits.
    static let largestServerID: UInt32 = 4_294_967_288

    /// How connections are made, with everything that protects them.
    ///
    /// - Returns: What ``MySQLConnection`` needs. Certificates are PEM: files are read here.
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`, without any value that is secret.
    package func connection() throws(ServiceError) -> MySQLConnectionSettings {
        let parts = try checkedParts()
        let mode = try effectiveMode()
        guard (clientCertificate == nil) == (clientPrivateKey == nil) else {
            throw error(
                clientCertificate == nil ? "client_certificate" : "client_private_key",
                "missing; give client_certificate and client_private_key, or none of them"
            )
        }
        var ranges = AddressRanges.none
        for range in rejectedAddresses where !ranges.insert(range) {
            throw error(
                "reject_ip_ranges",
                "\"\(range)\" is not an address range such as 10.0.0.0/8, and not \"local\""
            )
        }
        let certificates = MySQLConnectionSettings.TLS(
            authority: try pem(caCertificate, "cacert"),
            clientCertificate: try pem(clientCertificate, "client_certificate"),
            clientKey: try pem(clientPrivateKey, "client_private_key"),
            serverName: tlsServerName
        )
        let tls: MySQLConnectionSettings.TLSMode =
            switch mode {
            case .disable: .disabled
            case .verifyCA: .verifyCA(certificates)
            default: .verifyFull(certificates)
            }
        var settings = MySQLConnectionSettings(
            host: parts.host,
            port: parts.port,
            username: parts.username,
            password: parts.password,
            database: parts.database,
            tls: tls
        )
        settings.connectTimeout = connectTimeout
        settings.allows = { [ranges] address in !ranges.contains(address) }
        return settings
    }

    /// The parts of the connection, all of them there.
    private func checkedParts() throws(ServiceError) -> (
        host: String, port: Int, username: String, password: String, database: String
    ) {
        if let problem = uri?.problem { throw error("uri", problem.text, .notADatabaseURI) }
        let parts = parts
        func require(_ value: String?, _ key: String, _ code: ErrorCode) throws(ServiceError) -> String {
            guard let value, !value.isEmpty else {
                throw error(key, "missing; give it here or in uri: mysql://user:password@host:3306/database", code)
            }
            return value
        }
        let host = try require(parts.host, "hostname", .hostMissing)
        let username = try require(parts.username, "username", .userMissing)
        guard let password = parts.password else {
            throw error(
                "password",
                "missing; give it here or in uri: mysql://user:password@host:3306/database",
                .passwordMissing
            )
        }
        let database = try require(parts.database, "database", .databaseMissing)
        // Messages show these, so that they must not have a password.
        for (value, given, key) in [
            (host, overrides.host, "hostname"), (username, overrides.username, "username"),
            (database, overrides.database, "database"),
        ] {
            guard !value.contains("://"), key != "hostname" || !value.contains("@") else {
                throw error(
                    given == nil ? "uri" : key,
                    "is or has a whole URI; write it as uri, and here the name alone",
                    .notADatabaseURI
                )
            }
        }
        guard let port = UInt16(parts.port ?? "3306"), port > 0 else {
            throw error(
                overrides.port == nil ? "uri" : "port",
                "the port is not a number between 1 and 65535; write host:3306",
                .notAPort
            )
        }
        return (host: host, port: Int(port), username: username, password: password, database: database)
    }

    /// Takes what the parameters of the URI say.
    ///
    /// - Returns: The names of those that say nothing here.
    mutating func readParameters() -> [String] {
        var unknown: [String] = []
        for (name, value) in uri?.parameters ?? [] {
            switch name {
            case "connectTimeout":
                if let milliseconds = Int(value), milliseconds > 0 { connectTimeout = .milliseconds(milliseconds) }
            case "connectionLimit":
                if let count = Int(value), (1...1000).contains(count) { maximumPoolSize = count }
            case "sslmode": break
            default: unknown.append(name)
            }
        }
        return unknown
    }

    /// The protection of the connection, from any place of the configuration.
    private func effectiveMode() throws(ServiceError) -> TLSMode {
        if let tls { return tls }
        guard let name = uri?.parameters.last(where: { $0.name == "sslmode" })?.value else { return .verifyFull }
        guard let mode = TLSMode.all.first(where: { $0.sslmode == name }) else {
            throw error("uri", "its parameter sslmode is not one of \(TLSMode.names)")
        }
        return mode
    }

    /// What is not safe about how the connection is protected, with the key that says so; `nil` when all is well, or not allowed.
    var protectionWarning: (key: String, message: String)? {
        guard let mode = try? effectiveMode(), mode == .disable, let host = parts.host else { return nil }
        guard !["localhost", "::1"].contains(host),
            !(host.hasPrefix("127.") && host.allSatisfy { "0123456789.".contains($0) })
        else { return nil }
        let message = "\"disable\" encrypts nothing; use verify-full, unless nobody else can read the network"
        return tls == nil
            ? (key: "uri", message: "its parameter sslmode: \(message)") : (key: "sslmode", message: message)
    }

    /// The PEM of a text that is PEM, or the path of a file with it; `nil` for `nil`.
    private func pem(_ text: String?, _ key: String) throws(ServiceError) -> String? {
        guard let text else { return nil }
        if text.contains("-----BEGIN") { return text }
        guard let data = FileManager.default.contents(atPath: text), let contents = String(data: data, encoding: .utf8)
        else { throw error(key, "cannot be read; give PEM, or the path of a file that the service may read") }
        return contents
    }

    private func error(_ key: String, _ message: String, _ code: ErrorCode? = nil) -> ServiceError {
        ServiceError(.invalidConfiguration, message, key: "\(self.key).\(key)", catalogueCode: code)
    }
}

extension MySQLSettings {
    /// The password, as it is and as it stands in a URI, and a line of the private key.
    var secrets: [String] {
        var secrets: [String] = []
        if let password = parts.password, !password.isEmpty {
            secrets.append(password)
            secrets += [password.addingPercentEncoding(withAllowedCharacters: .alphanumerics)].compactMap { $0 }
        }
        if let key = clientPrivateKey, key.contains("PRIVATE KEY") {
            secrets += key.split(whereSeparator: \.isNewline).dropFirst().prefix(1).map { String($0) }
        }
        return secrets
    }
}

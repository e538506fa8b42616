import PowerSyncProtocol
import PowerSyncServiceCore

extension MySQLSettings {
    /// Reads a connection of the type `mysql`: `nil` when none can be made, and what is wrong is in the findings of the document.
    ///
    /// - Parameter section: The connection.
    init?(_ section: inout YAMLSection) {
        let uri = section.string("uri", as: .secret)
        self.init(host: "", database: "", username: "", password: "")
        overrides = .init()
        if let uri { readURI(uri, section) }
        overrides.host = section.string("hostname", as: .name)
        overrides.username = section.string("username", as: .name)
        overrides.password = section.string("password", as: .secret)
        overrides.database = section.string("database", as: .name)
        if let port = section.integer("port", in: 1...65535, .notAPort) { overrides.port = String(port) }
        readTLS(&section)
        if let number = section.integer("server_id", in: 0...Int(Self.largestServerID)) { serverID = UInt32(number) }
        maximumPoolSize = section.integer("max_pool_size", in: 1...1000) ?? maximumPoolSize
        if let seconds = section.integer("connect_timeout", in: 1...3600) { connectTimeout = .seconds(seconds) }
        if let seconds = section.integer("heartbeat_interval_seconds", in: 5...60) {
            heartbeatInterval = .seconds(seconds)
        }
        if let megabytes = section.integer("binlog_queue_memory_limit", in: 1...65536) {
            binlogQueueMemoryLimit = megabytes << 20
        }
        copiesAfterAlter = section.boolean("copy_after_alter") ?? copiesAfterAlter
        ignoresForeignKeyCascades = section.boolean("ignore_foreign_key_cascades") ?? ignoresForeignKeyCascades
        rejectedAddresses = section.strings("reject_ip_ranges") ?? []
        section.finish()
        guard check(section) else { return nil }
    }

    private mutating func readURI(_ text: String, _ section: YAMLSection) {
        let uri = MySQLConnectionURI(text)
        self.uri = uri
        if let password = uri.parts.password, let problem = TextRule.secret.problem(with: password) {
            section.fail("uri", "its password \(problem)")
        }
        for name in readParameters() {
            section.warn("uri", "its parameter \(name) has no effect here: it is for another program")
        }
    }

    private mutating func readTLS(_ section: inout YAMLSection) {
        if let name = section.string("sslmode") {
            tls = TLSMode.all.first { $0.sslmode == name }
            if tls == nil { section.fail("sslmode", "\"\(name)\" is not one of \(TLSMode.names)") }
        }
        if let (key, message) = protectionWarning { section.warn(key, message) }
        func pem(_ key: String, _ section: inout YAMLSection) -> String? {
            section.string(key, as: .secret).map { $0.contains("-----BEGIN") ? $0 : section.document.absolutePath($0) }
        }
        caCertificate = pem("cacert", &section)
        clientCertificate = pem("client_certificate", &section)
        clientPrivateKey = pem("client_private_key", &section)
        tlsServerName = section.string("tls_servername", as: .name)
    }

    /// Finds what is missing, so that it is an error of the file and not of the first connection.
    private func check(_ section: YAMLSection) -> Bool {
        do {
            _ = try connection()
            return true
        } catch {
            let key = error.key?.split(separator: ".").last.map(String.init)
            section.fail(key, error.message, catalogueCode: error.catalogueCode)
            return false
        }
    }
}

import PowerSyncProtocol
import PowerSyncServiceCore

extension PostgresSettings {
    /// The keys of a connection, for editors.
    static let schemaKeys: [SchemaObject.Key] = .connection(
        uri: "postgresql://user:password@host:5432/database",
        modes: TLSMode.all.map(\.sslmode)
    )

    /// Reads a connection of the type `postgresql`: `nil` when none can be made, and what is wrong is in the findings of the document.
    ///
    /// - Parameter section: The connection.
    init?(_ section: inout YAMLSection) {
        self.init(connection: &section)
        publication = section.string("publication", as: .name) ?? publication
        if let prefix = section.string("slot_name_prefix") {
            // With the id that follows, a name has up to 63 bytes.
            if (1...32).contains(prefix.utf8.count), prefix.utf8.allSatisfy(Self.isSlotNameByte) {
                slotNamePrefix = prefix
            } else {
                section.fail("slot_name_prefix", "1 to 32 lower case letters, digits and _ are possible")
            }
        }
        if let seconds = section.integer("heartbeat_interval_seconds", in: 5...60) {
            heartbeatInterval = .seconds(seconds)
        }
        section.finish()
        guard check(section) else { return nil }
    }

    /// Reads a storage of the type `postgresql`; what is wrong is in the findings of the document.
    ///
    /// - Parameter section: The storage.
    /// - Returns: The settings, and the name of the schema; `nil` when there is no connection with them.
    static func storage(_ section: inout YAMLSection) -> (settings: PostgresSettings, schema: String)? {
        var settings = PostgresSettings(connection: &section)
        settings.key = "storage"
        let schema = section.string("schema", as: .name) ?? PostgresBucketStorage.defaultSchema
        if !isSchemaName(schema) {
            section.fail(
                "schema",
                "1 to 48 lower case letters, digits and _ are possible, and no digit at the beginning"
            )
        }
        section.finish()
        return settings.check(section) ? (settings, schema) : nil
    }

    /// Whether a schema of the storage may have a name: one that needs no quotes, and is no name of the system's.
    static func isSchemaName(_ name: String) -> Bool {
        (1...48).contains(name.utf8.count) && name.utf8.allSatisfy(isSlotNameByte) && !name.hasPrefix("pg_")
            && !(name.first?.isNumber ?? true)
    }

    /// Reads what source and storage have in common: how to connect.
    private init(connection section: inout YAMLSection) {
        let uri = section.string("uri", as: .secret)
        self.init(host: "", database: "", username: "", password: nil)
        self.overrides = [:]
        if let uri { readURI(uri, section) }
        for (key, keyword, rule) in [
            ("hostname", "host", TextRule.name), ("username", "user", .name), ("password", "password", .secret),
            ("database", "dbname", .name),
        ] {
            if let value = section.string(key, as: rule) { overrides[keyword] = value }
        }
        if let port = section.integer("port", in: 1...65535, .notAPort) { overrides["port"] = String(port) }
        readTLS(&section)
        maximumPoolSize = section.integer("max_pool_size", in: 1...1000) ?? maximumPoolSize
        if let seconds = section.integer("connect_timeout", in: 1...3600) {
            overrides["connect_timeout"] = String(seconds)
        }
        rejectedAddresses = section.strings("reject_ip_ranges") ?? []
    }

    private mutating func readURI(_ text: String, _ section: YAMLSection) {
        let uri = PostgresConnectionString(text)
        self.uri = uri
        if let password = uri.keywords?.last(where: { $0.name == "password" })?.value,
            let problem = TextRule.secret.problem(with: password)
        {
            section.fail("uri", "its password \(problem)")
        }
        for name in uri.foreignParameters {
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
            _ = try connectionString()
            return true
        } catch {
            let key = error.key?.split(separator: ".").last.map(String.init)
            section.fail(key, error.message, catalogueCode: error.catalogueCode)
            return false
        }
    }

    private static func isSlotNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

import PowerSyncServicePostgres

extension PostgresSettings {
    /// Reads a connection of the type `postgresql`.
    ///
    /// - Parameters:
    ///   - section: The connection.
    ///   - path: Makes a path of the file absolute.
    ///   - warnings: Gets what has no effect, or is not safe.
    /// - Throws: ``ServiceError`` that names the key and says what to write.
    init(
        _ section: inout YAMLSection,
        path: (String) -> String,
        warnings: inout [String]
    ) throws(ServiceError) {
        try self.init(connection: &section, path: path, warnings: &warnings)
        publication = try section.string("publication") ?? publication
        if let prefix = try section.string("slot_name_prefix") {
            // With the id that follows, a name has up to 63 bytes.
            guard (1...32).contains(prefix.utf8.count), prefix.utf8.allSatisfy(Self.isSlotNameByte) else {
                throw section.error("slot_name_prefix", "1 to 32 lower case letters, digits and _ are possible")
            }
            slotNamePrefix = prefix
        }
        if let seconds = try section.integer("heartbeat_interval_seconds", in: 5...60) {
            heartbeatInterval = .seconds(seconds)
        }
        rejectedAddresses = try section.strings("reject_ip_ranges") ?? []
        section.ignore("id", "tag")
        section.finish(&warnings)
        try check(section)
    }

    /// Reads a storage of the type `postgresql`.
    ///
    /// - Parameters:
    ///   - section: The storage.
    ///   - path: Makes a path of the file absolute.
    ///   - warnings: Gets what has no effect, or is not safe.
    /// - Returns: The settings, and the name of the schema.
    /// - Throws: ``ServiceError`` that names the key and says what to write.
    static func storage(
        _ section: inout YAMLSection,
        path: (String) -> String,
        warnings: inout [String]
    ) throws(ServiceError) -> ServiceConfiguration.Storage {
        var settings = try PostgresSettings(connection: &section, path: path, warnings: &warnings)
        settings.key = "storage"
        let schema = try section.string("schema") ?? PostgresBucketStorage.defaultSchema
        guard isSchemaName(schema) else {
            throw section.error(
                "schema",
                "1 to 48 lower case letters, digits and _ are possible, and no digit at the beginning"
            )
        }
        section.finish(&warnings)
        try settings.check(section)
        return .postgresql(settings, schema: schema)
    }

    /// Whether a schema of the storage may have a name: one that needs no quotes, and is no name of the system's.
    static func isSchemaName(_ name: String) -> Bool {
        (1...48).contains(name.utf8.count) && name.utf8.allSatisfy(isSlotNameByte) && !name.hasPrefix("pg_")
            && !(name.first?.isNumber ?? true)
    }

    /// Reads what source and storage have in common: how to connect.
    private init(
        connection section: inout YAMLSection,
        path: (String) -> String,
        warnings: inout [String]
    ) throws(ServiceError) {
        let uri = try section.string("uri")
        self.init(host: "", database: "", username: "", password: nil)
        self.overrides = [:]
        if let uri { self.uri = PostgresConnectionString(uri) }
        for (key, keyword) in [
            ("hostname", "host"), ("username", "user"), ("password", "password"), ("database", "dbname"),
        ] {
            if let value = try section.string(key) { overrides[keyword] = value }
        }
        if let port = try section.integer("port", in: 1...65535) { overrides["port"] = String(port) }
        try readTLS(&section, path, &warnings)
        maximumPoolSize = try section.integer("max_pool_size", in: 1...1000) ?? maximumPoolSize
        if let seconds = try section.integer("connect_timeout", in: 1...3600) {
            overrides["connect_timeout"] = String(seconds)
        }
    }

    private mutating func readTLS(
        _ section: inout YAMLSection,
        _ path: (String) -> String,
        _ warnings: inout [String]
    ) throws(ServiceError) {
        if let name = try section.string("sslmode") {
            tls = TLSMode.all.first { $0.sslmode == name }
            guard tls != nil else { throw section.error("sslmode", "\"\(name)\" is not one of \(TLSMode.names)") }
        }
        if let (key, message) = protectionWarning { warnings.append(section.error(key, message).description) }
        func pem(_ key: String) throws(ServiceError) -> String? {
            guard let value = try section.string(key) else { return nil }
            return value.contains("-----BEGIN") ? value : path(value)
        }
        caCertificate = try pem("cacert")
        clientCertificate = try pem("client_certificate")
        clientPrivateKey = try pem("client_private_key")
        tlsServerName = try section.string("tls_servername")
    }

    /// Finds what is missing, so that it is an error of the file and not of the first connection.
    private func check(_ section: YAMLSection) throws(ServiceError) {
        do {
            _ = try connectionString()
        } catch {
            let key = error.key?.split(separator: ".").last.map(String.init)
            throw section.error(key, error.message)
        }
    }

    private static func isSlotNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

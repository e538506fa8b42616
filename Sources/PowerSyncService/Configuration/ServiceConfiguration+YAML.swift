import Foundation
import Logging
import PowerSyncServiceCore
import PowerSyncTokens

extension ServiceConfiguration {
    /// Reads a configuration file.
    ///
    /// ```yaml
    /// replication:
    ///   connections:
    ///     - type: embedded
    ///       path: data/source.db
    ///       tables: ["CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT)"]
    /// storage: { type: sqlite, path: data/buckets.db }
    /// port: 8080
    /// sync_config: { path: sync.yaml }
    /// client_auth:
    ///   audience: [powersync-dev]
    ///   jwks: { keys: [{ kty: oct, alg: HS256, kid: dev, k: !env PS_JWT_SECRET }] }
    /// ```
    ///
    /// - Parameters:
    ///   - path: The file. Relative paths in it start at its folder.
    ///   - environment: Where `!env PS_NAME` finds values. `PS_LOG_LEVEL` and `PS_LOG_FORMAT` replace those of the file, and
    ///     `POWERSYNC_SYNC_CONFIG_B64`, a text in base64, its sync config.
    /// - Throws: `ServiceError` that names file, line and key; code `invalidConfiguration`, or `unsupported` for what this
    ///   version cannot do yet.
    public init(contentsOf path: String, environment: [String: String]) throws(ServiceError) {
        let yaml = try Self.read(path, what: "the service configuration")
        try self.init(yaml: yaml, file: path, environment: environment)
    }

    /// Reads a configuration from text; see ``init(contentsOf:environment:)``.
    ///
    /// - Parameters:
    ///   - yaml: The text.
    ///   - file: The name in error messages; relative paths start at its folder.
    ///   - environment: As there.
    /// - Throws: `ServiceError` as ``init(contentsOf:environment:)``.
    public init(yaml: String, file: String, environment: [String: String]) throws(ServiceError) {
        var root = try YAMLSection(yaml: yaml, document: .init(file: file, environment: environment))
        var warnings: [String] = []
        self.init(
            source: try Self.readSource(&root, &warnings),
            storage: try Self.readStorage(&root, &warnings),
            syncConfig: .deployed
        )
        host = try root.string("host") ?? host
        port = try root.integer("port", in: 1024...65535) ?? port
        authentication = try Self.readAuthentication(&root, supabaseProject: source.supabaseProject, &warnings)
        (limits, admin) = try Self.readAPI(&root, &warnings)
        syncConfig = try Self.readSyncConfig(&root, hasAdminAPI: !admin.tokens.isEmpty, &warnings)
        probes = try Self.readProbes(&root, &warnings)
        logging = try Self.readLogging(&root, environment, &warnings)
        if var section = try root.section("development") {
            development.writeEndpoint = try section.boolean("write_endpoint") ?? development.writeEndpoint
            development.tokenEndpoint = try section.boolean("token_endpoint") ?? development.tokenEndpoint
            development.dashboard = try section.boolean("dashboard") ?? development.dashboard
            // A misspelt `false` would leave an endpoint on.
            try section.finish()
        }
        if var section = try root.section("telemetry") {
            section.ignore("disable_telemetry_sharing")
            metricsPort = try section.integer("prometheus_port", in: 1024...65535)
            if metricsPort == port {
                throw section.error("prometheus_port", "the port of the service; choose another one")
            }
            section.finish(&warnings)
        }
        if var section = try root.section("migrations") {
            migratesAutomatically = try section.boolean("disable_auto_migration") != true
            section.finish(&warnings)
        }
        if var section = try root.section("tls") {
            tls = TLSFiles(
                certificate: try Self.requiredPath("certificate", in: &section),
                privateKey: try Self.requiredPath("private_key", in: &section)
            )
            section.finish(&warnings)
        }
        root.finish(&warnings)
        self.warnings = warnings
    }
}

// MARK: Sections

extension ServiceConfiguration {
    private static func readSource(
        _ root: inout YAMLSection,
        _ warnings: inout [String]
    ) throws(ServiceError) -> Source {
        guard var replication = try root.section("replication") else {
            throw root.error("replication", "missing; say where rows come from with replication.connections")
        }
        guard let connections = try replication.sections("connections"), !connections.isEmpty else {
            throw replication.error("connections", "missing; one connection is needed")
        }
        guard connections.count == 1 else {
            throw replication.error("connections", "only one connection is possible, not \(connections.count)")
        }
        replication.finish(&warnings)

        var connection = connections[0]
        let type = try connection.string("type")
        switch type {
        case "embedded":
            let path = try requiredPath("path", in: &connection)
            let statements = (try connection.strings("tables") ?? []) + (try connection.strings("schema") ?? [])
            connection.ignore("id", "tag")
            connection.finish(&warnings)
            return .embedded(path: path, statements: statements)
        case "postgresql":
            let file = connection.document.file
            return .postgresql(
                try PostgresSettings(&connection, path: { absolutePath($0, file) }, warnings: &warnings)
            )
        case nil:
            throw connection.error("type", "missing; use \"postgresql\" or \"embedded\"")
        case .some(let other):
            throw connection.error("type", "\"\(other)\" is not a known type; use \"postgresql\" or \"embedded\"")
        }
    }

    private static func readStorage(
        _ root: inout YAMLSection,
        _ warnings: inout [String]
    ) throws(ServiceError) -> Storage {
        guard var section = try root.section("storage") else {
            throw root.error("storage", "missing; say where buckets are kept: {type: sqlite, path: data/buckets.db}")
        }
        switch try section.string("type") {
        case "sqlite":
            let path = try requiredPath("path", in: &section)
            section.finish(&warnings)
            return .sqlite(path: path)
        case "postgresql":
            let file = section.document.file
            return try PostgresSettings.storage(&section, path: { absolutePath($0, file) }, warnings: &warnings)
        case nil:
            throw section.error("type", "missing; use \"sqlite\" or \"postgresql\"")
        case .some(let other):
            throw section.error("type", "\"\(other)\" is not a known type; use \"sqlite\" or \"postgresql\"")
        }
    }

    private static func readSyncConfig(
        _ root: inout YAMLSection,
        hasAdminAPI: Bool,
        _ warnings: inout [String]
    ) throws(ServiceError) -> SyncConfigSource {
        let names = ["sync_config", "sync_rules"].filter { root.contains($0) }
        if let (name, text) = try ConfigurationVariable.syncConfigText(in: root.document.environment) {
            return .variable(name, text)
        }
        guard let name = names.first, var section = try root.section(name) else {
            if hasAdminAPI { return .deployed }
            throw root.error(
                "sync_config",
                "missing; say what clients get with sync_config.path or sync_config.content, "
                    + "or give api.tokens to deploy it through the admin API"
            )
        }
        guard names.count == 1 else { throw root.error("sync_rules", "an alias of sync_config; give one of them") }
        if try section.boolean("exit_on_error") == false {
            warnings.append(
                section.error("exit_on_error", "no effect: a broken sync config always stops the start").description
            )
        }
        let path = try section.string("path")
        let content = try section.string("content")
        section.finish(&warnings)
        switch (path, content) {
        case (let path?, nil): return .file(absolutePath(path, section.document.file))
        case (nil, let content?): return .content(content)
        case (nil, nil): throw section.error(nil, "needs path or content")
        case (.some, .some): throw section.error("content", "give path or content, not both")
        }
    }

    private static func readAuthentication(
        _ root: inout YAMLSection,
        supabaseProject: String?,
        _ warnings: inout [String]
    ) throws(ServiceError) -> ClientAuthentication {
        var authentication = ClientAuthentication()
        guard var section = try root.section("client_auth") else {
            warnings.append("\(root.document.file): client_auth: missing, every client is rejected")
            return authentication
        }
        for text in try section.strings("jwks_uri") ?? [] {
            guard let url = URL(string: text) else { throw section.error("jwks_uri", "\"\(text)\" is not a URL") }
            authentication.keySets.append(url)
        }
        let isSupabase = try section.boolean("supabase") == true
        let supabaseSecret = try section.string("supabase_jwt_secret")
        if isSupabase {
            (authentication.supabaseSecret, authentication.supabaseProject) = (supabaseSecret, supabaseProject)
            if !authentication.hasSupabaseKeys {
                guard !authentication.keySets.isEmpty else {
                    throw section.error(
                        "supabase",
                        "the host of the source is not db.<reference>.supabase.co, so the project is not known; give "
                            + "jwks_uri: https://<reference>.supabase.co/auth/v1/.well-known/jwks.json and "
                            + "audience: [authenticated], or supabase_jwt_secret for a project that signs with a secret"
                    )
                }
                warnings.append(
                    section.error(
                        "supabase",
                        "no effect: the host of the source is not db.<reference>.supabase.co"
                    ).description
                )
            }
        } else if supabaseSecret != nil {
            warnings.append(section.error("supabase_jwt_secret", "no effect without supabase: true").description)
        }
        authentication.rejectedKeySetAddresses = try section.strings("jwks_reject_ip_ranges") ?? []
        if try section.boolean("block_local_jwks") == true {
            authentication.rejectedKeySetAddresses.append("local")
            authentication.rejectsIPv6KeySets = true
        }
        authentication.audience = try section.strings("audience") ?? []
        if var jwks = try section.section("jwks") {
            for var key in try jwks.sections("keys") ?? [] {
                authentication.keys.append(try readKey(&key, &warnings))
            }
            jwks.finish(&warnings)
        }
        section.finish(&warnings)
        do {
            try authentication.checkKeySources()
        } catch {
            throw section.error(error.key.map { String($0.split(separator: ".").last ?? "") }, error.message)
        }
        if !authentication.hasKeys {
            warnings.append("\(root.document.file): client_auth: no keys, every client is rejected")
        } else if authentication.audience.isEmpty, !authentication.hasSupabaseKeys {
            warnings.append("\(root.document.file): client_auth.audience: empty, every client is rejected")
        }
        return authentication
    }

    private static func readKey(
        _ section: inout YAMLSection,
        _ warnings: inout [String]
    ) throws(ServiceError) -> ClientKey {
        var members: [String: String] = [:]
        for name in ["kty", "alg", "kid", "k", "n", "e", "crv", "x", "y"] {
            members[name] = try section.string(name)
        }
        section.ignore("use", "key_ops")
        section.finish(&warnings)
        do {
            return ClientKey(key: try JSONWebKey(members: members))
        } catch {
            throw section.error(
                error.member,
                error.message,
                code: error.isUnsupported ? .unsupported : .invalidConfiguration
            )
        }
    }

    private static func readAPI(
        _ root: inout YAMLSection,
        _ warnings: inout [String]
    ) throws(ServiceError) -> (ServiceLimits, AdminOptions) {
        var (limits, admin) = (ServiceLimits(), AdminOptions())
        guard var api = try root.section("api") else { return (limits, admin) }
        admin.tokens = try api.strings("tokens") ?? []
        if admin.tokens.contains(where: \.isEmpty) {
            throw api.error("tokens", "a token is empty; draw one at random, with openssl rand -hex 32 for example")
        }
        if var section = try api.section("parameters") {
            let any = 1...Int.max
            limits.maxConcurrentConnections =
                try section.integer("max_concurrent_connections", in: any) ?? limits.maxConcurrentConnections
            limits.maxStreamsPerUser =
                try section.integer("max_streams_per_user", in: any) ?? limits.maxStreamsPerUser
            limits.maxDataFetchConcurrency =
                try section.integer("max_data_fetch_concurrency", in: any) ?? limits.maxDataFetchConcurrency
            limits.maxReadAheadBytes =
                try section.integer("max_read_ahead_bytes", in: any) ?? limits.maxReadAheadBytes
            limits.maxBucketsPerConnection =
                try section.integer("max_buckets_per_connection", in: any) ?? limits.maxBucketsPerConnection
            limits.maxParameterQueryResults =
                try section.integer("max_parameter_query_results", in: any) ?? limits.maxParameterQueryResults
            if try section.integer("bucket_count_cache_ttl_minutes", in: any) != nil {
                warnings.append(
                    section.error("bucket_count_cache_ttl_minutes", "no effect: there is no such cache").description
                )
            }
            // What they are kept for in any case is nothing to warn about.
            if let minutes = try section.integer("checkpoint_request_retention_minutes", in: any), minutes != 60 {
                warnings.append(
                    section.error("checkpoint_request_retention_minutes", "not supported yet; it is always 60")
                        .description
                )
            }
            section.finish(&warnings)
        }
        api.finish(&warnings)
        return (limits, admin)
    }

    private static func readProbes(
        _ root: inout YAMLSection,
        _ warnings: inout [String]
    ) throws(ServiceError) -> ProbeOptions {
        var options = ProbeOptions()
        guard var section = try root.section("healthcheck") else { return options }
        if var probes = try section.section("probes") {
            let usesHTTP = try probes.boolean("use_http") ?? false
            let isLegacy = try probes.boolean("use_legacy") ?? false
            options.useHTTP = usesHTTP || isLegacy
            if try probes.boolean("use_filesystem") == true {
                warnings.append("\(root.document.file): healthcheck.probes.use_filesystem: not supported yet")
            }
            probes.finish(&warnings)
        }
        section.finish(&warnings)
        return options
    }

    private static func readLogging(
        _ root: inout YAMLSection,
        _ environment: [String: String],
        _ warnings: inout [String]
    ) throws(ServiceError) -> LoggingOptions {
        var options = LoggingOptions()
        guard var system = try root.section("system") else {
            try options.apply(level: environment["PS_LOG_LEVEL"], format: environment["PS_LOG_FORMAT"], root)
            return options
        }
        if var section = try system.section("logging") {
            try options.apply(level: try section.string("level"), format: try section.string("format"), section)
            section.finish(&warnings)
        }
        try options.apply(level: environment["PS_LOG_LEVEL"], format: environment["PS_LOG_FORMAT"], system)
        system.finish(&warnings)
        return options
    }

    private static func requiredPath(_ key: String, in section: inout YAMLSection) throws(ServiceError) -> String {
        guard let path = try section.string(key), !path.isEmpty else {
            throw section.error(key, "missing; give a file")
        }
        return absolutePath(path, section.document.file)
    }

    private static func absolutePath(_ path: String, _ file: String) -> String {
        URL(filePath: path, relativeTo: URL(filePath: file).deletingLastPathComponent()).standardizedFileURL.path(
            percentEncoded: false
        )
    }
}

extension LoggingOptions {
    /// The names of the established service, and those of swift-log.
    private static let levels: [String: Logger.Level] = [
        "silly": .trace, "trace": .trace, "debug": .debug, "verbose": .debug, "http": .debug, "info": .info,
        "notice": .notice, "warn": .warning, "warning": .warning, "error": .error, "critical": .critical,
    ]

    /// Replaces what is given; errors point to `section`.
    fileprivate mutating func apply(
        level: String?,
        format: String?,
        _ section: YAMLSection
    ) throws(ServiceError) {
        if let level {
            guard let known = Self.levels[level.lowercased()] else {
                throw section.error(
                    "level",
                    "\"\(level)\" is not one of silly, debug, verbose, http, info, warn, error"
                )
            }
            self.level = known
        }
        switch format {
        case nil: break
        case "text": self.format = .text
        case "json": self.format = .json
        case .some(let other): throw section.error("format", "\"\(other)\" is not one of json, text")
        }
    }
}

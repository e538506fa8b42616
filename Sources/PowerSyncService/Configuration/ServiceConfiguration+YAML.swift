import Foundation
import Logging
import PowerSyncProtocol
public import PowerSyncServiceCore

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
    /// - Throws: `ServiceError` that names file, line and key of all that is wrong; code `invalidConfiguration`, or `unsupported`
    ///   for what this version cannot do yet.
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
        try self.init(yaml: yaml, file: file, environment: environment, modules: .all)
    }

    /// Reads a configuration with other kinds of databases; see ``init(contentsOf:environment:)``.
    package init(
        yaml: String,
        file: String,
        environment: [String: String],
        modules: Modules
    ) throws(ServiceError) {
        var root = try YAMLSection(yaml: yaml, document: .init(file: file, environment: environment))
        let findings = root.document.findings
        if let hosted = root.hostedServiceFile {
            throw ServiceError(.invalidConfiguration, hosted.message(modules), file: file)
        }
        if let kind = root.string("_type"), kind != "self-hosted" {
            root.fail("_type", "\"\(kind)\" is not a kind of file; write self-hosted, or leave it out")
        }
        // Read in any case: all that is wrong with the file is said.
        let source = Self.readSource(&root, modules)
        let storage = Self.readStorage(&root, modules)
        let (limits, admin) = Self.readAPI(&root)
        let syncConfig = Self.readSyncConfig(&root, hasAdminAPI: !admin.tokens.isEmpty)
        let process = ProcessSettings(&root, source: source, environment)
        root.finish()
        guard let source, let storage, findings.error == nil else {
            // What could not be read has a finding.
            throw findings.error ?? ServiceError(.invalidConfiguration, "cannot be read", file: file)
        }
        self.init(source: source, storage: storage, syncConfig: syncConfig.source)
        (self.limits, self.admin, self.modules) = (limits, admin, modules)
        exitsOnSyncConfigError = syncConfig.exitsOnError
        syncConfigVersionLabel = syncConfig.versionLabel
        if let named = process.host { (host, metricsHost) = (named, named) }
        port = process.port ?? port
        authentication = process.authentication
        probes = process.probes
        logging = process.logging
        development = process.development
        metricsPort = process.metricsPort
        migratesAutomatically = process.migratesAutomatically
        tls = process.tls
        warnings = findings.warnings
    }
}

// MARK: Sections

extension ServiceConfiguration {
    private static func readSource(_ root: inout YAMLSection, _ modules: Modules) -> Source? {
        guard var replication = root.section("replication") else {
            root.fail("replication", "missing; say where rows come from with replication.connections")
            return nil
        }
        defer { replication.finish() }
        guard let connections = replication.sections("connections"), var connection = connections.first else {
            replication.fail("connections", "missing; one connection is needed")
            return nil
        }
        guard connections.count == 1 else {
            replication.fail("connections", "only one connection is possible, not \(connections.count)")
            return nil
        }
        return modules.source(&connection)
    }

    private static func readStorage(_ root: inout YAMLSection, _ modules: Modules) -> Storage? {
        guard var section = root.section("storage") else {
            let example = modules.storages.first.map { ": \($0.example)" } ?? ""
            root.fail("storage", "missing; say where buckets are kept\(example)")
            return nil
        }
        return modules.storage(&section)
    }

    /// What a file says of the sync config.
    private struct SyncConfigSettings {
        var source: SyncConfigSource = .deployed
        var exitsOnError = true
        var versionLabel: String?
    }

    private static func readSyncConfig(
        _ root: inout YAMLSection,
        hasAdminAPI: Bool
    ) -> SyncConfigSettings {
        var settings = SyncConfigSettings()
        let names = ["sync_config", "sync_rules"].filter { root.contains($0) }
        var variable: (name: String, text: String)?
        do {
            variable = try ConfigurationVariable.syncConfigText(in: root.document.environment)
        } catch {
            root.document.findings.fail(error)
        }
        if let variable { settings.source = .variable(variable.name, variable.text) }
        if names.count > 1 { root.warn("sync_rules", "no effect beside sync_config, of which it is another name") }
        guard let name = names.first, var section = root.section(name) else {
            if variable == nil, names.isEmpty, !hasAdminAPI {
                root.fail(
                    "sync_config",
                    "missing; say what clients get with sync_config.path or sync_config.content, "
                        + "or give api.tokens to deploy it through the admin API"
                )
            }
            return settings
        }
        settings.exitsOnError = section.boolean("exit_on_error") ?? true
        settings.versionLabel = section.string("version_label", as: .name)
        let path = section.string("path", as: .name)
        let hasContent = section.contains("content")
        let content = section.string("content")
        defer { section.finish() }
        guard variable == nil else { return settings }
        switch (path, content) {
        case (let path?, _):
            settings.source = .file(section.document.absolutePath(path))
            if hasContent { section.warn("content", "no effect beside path, which counts") }
        case (nil, let content?): settings.source = .content(content)
        case (nil, nil) where hasContent || section.contains("path"): break
        case (nil, nil): section.fail(nil, "needs path or content")
        }
        return settings
    }

    /// What a file says of the process itself.
    private struct ProcessSettings {
        var host: String?
        var port: Int?
        var authentication: ClientAuthentication
        var probes: ProbeOptions
        var logging: LoggingOptions
        var development = DevelopmentEndpoints()
        var metricsPort: Int?
        var migratesAutomatically = true
        var tls: TLSFiles?

        init(_ root: inout YAMLSection, source: Source?, _ environment: [String: String]) {
            host = ServiceConfiguration.readHost(&root)
            port = root.integer("port", in: 1...65535, .notAPort)
            authentication = ClientAuthentication(
                &root,
                supabaseProject: source?.supabaseProject,
                knowsSource: source != nil
            )
            probes = ServiceConfiguration.readProbes(&root)
            logging = ServiceConfiguration.readLogging(&root, environment)
            if var section = root.section("development") {
                development.writeEndpoint = section.boolean("write_endpoint") ?? development.writeEndpoint
                development.tokenEndpoint = section.boolean("token_endpoint") ?? development.tokenEndpoint
                development.dashboard = section.boolean("dashboard") ?? development.dashboard
                section.finish()
            }
            if var section = root.section("telemetry") {
                metricsPort = section.integer("prometheus_port", in: 1...65535, .notAPort)
                if let metricsPort, metricsPort == port ?? ServiceConfiguration.defaultPort {
                    section.fail("prometheus_port", "the port of the service; choose another one")
                }
                section.finish()
            }
            if var section = root.section("migrations") {
                migratesAutomatically = section.boolean("disable_auto_migration") != true
                section.finish()
            }
            if var section = root.section("tls") {
                let certificate = section.requiredPath("certificate")
                let privateKey = section.requiredPath("private_key")
                if let certificate, let privateKey { tls = TLSFiles(certificate: certificate, privateKey: privateKey) }
                section.finish()
            }
        }
    }

    private static func readHost(_ root: inout YAMLSection) -> String? {
        guard let text = root.string("host", as: .name) else { return nil }
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let host = isBracketed ? String(text.dropFirst().dropLast()) : text
        let colons = host.count { $0 == ":" }
        if host.contains("/") || isBracketed && colons < 2 || host.contains("[") || host.contains("]") {
            root.fail(
                "host",
                "not an address; write 0.0.0.0, 127.0.0.1, ::1 or a name of this machine, without a scheme and a path"
            )
        } else if colons == 1 {
            root.fail(
                "host",
                "has a port; write host: \(host.prefix { $0 != ":" }) and port: \(host.drop { $0 != ":" }.dropFirst())"
            )
        } else if host == "*" {
            root.fail("host", "not an address; write 0.0.0.0 for all interfaces")
        } else {
            return host
        }
        return nil
    }

    private static func readAPI(_ root: inout YAMLSection) -> (ServiceLimits, AdminOptions) {
        var (limits, admin) = (ServiceLimits(), AdminOptions())
        guard var api = root.section("api") else { return (limits, admin) }
        admin.tokens = api.strings("tokens", as: .token) ?? []
        if var section = api.section("parameters") {
            func read(_ key: String, _ limit: WritableKeyPath<ServiceLimits, Int>) {
                if let value = section.integer(key, in: 1...Int.max) { limits[keyPath: limit] = value }
            }
            read("max_concurrent_connections", \.maxConcurrentConnections)
            read("max_streams_per_user", \.maxStreamsPerUser)
            read("max_data_fetch_concurrency", \.maxDataFetchConcurrency)
            read("max_read_ahead_bytes", \.maxReadAheadBytes)
            read("max_buckets_per_connection", \.maxBucketsPerConnection)
            read("max_parameter_query_results", \.maxParameterQueryResults)
            section.finish()
        }
        api.finish()
        return (limits, admin)
    }

    private static func readProbes(_ root: inout YAMLSection) -> ProbeOptions {
        var options = ProbeOptions()
        guard var section = root.section("healthcheck") else { return options }
        if var probes = section.section("probes") {
            let usesHTTP = probes.boolean("use_http") ?? false
            let isLegacy = probes.boolean("use_legacy") ?? false
            options.useHTTP = usesHTTP || isLegacy
            probes.finish()
        }
        section.finish()
        return options
    }

    private static func readLogging(_ root: inout YAMLSection, _ environment: [String: String]) -> LoggingOptions {
        var options = LoggingOptions()
        var system = root.section("system")
        if var section = system?.section("logging") {
            options.apply(level: section.string("level"), format: section.string("format"), section)
            section.finish()
        }
        options.apply(
            level: environment["PS_LOG_LEVEL"]?.withoutLineEnd,
            format: environment["PS_LOG_FORMAT"]?.withoutLineEnd,
            system ?? root
        )
        system?.finish()
        return options
    }
}

extension LoggingOptions {
    /// The names of the established service, and those of swift-log.
    private static let levels: [String: Logger.Level] = [
        "silly": .trace, "trace": .trace, "debug": .debug, "verbose": .debug, "http": .debug, "info": .info,
        "notice": .notice, "warn": .warning, "warning": .warning, "error": .error, "critical": .critical,
    ]

    /// Replaces what is given; errors point to `section`.
    fileprivate mutating func apply(level: String?, format: String?, _ section: YAMLSection) {
        if let level {
            if let known = Self.levels[level.lowercased()] {
                self.level = known
            } else {
                section.fail("level", "\"\(level)\" is not one of silly, debug, verbose, http, info, warn, error")
            }
        }
        switch format {
        case nil: break
        case "text": self.format = .text
        case "json": self.format = .json
        case .some(let other): section.fail("format", "\"\(other)\" is not one of json, text")
        }
    }
}

import PowerSyncServiceCore

/// The keys of a service configuration: what `ServiceConfiguration` reads from a file.
///
/// The page *Configuration reference* says more about each. A test tries every key in every mapping, here and with the reader.
enum ServiceSchema {
    private typealias Key = SchemaObject.Key

    /// The largest value of a limit that has none.
    private static let anyNumber = 1...Int(Int32.max)
    private static let port = [Key].port

    /// The file.
    static var root: SchemaObject {
        SchemaObject(
            keys: [
                Key("_type", "The kind of file.", .choice(["self-hosted"])),
                Key("replication", "Where rows come from.", .object(replication)),
                Key("storage", "Where buckets are kept.", .variants(storages)),
                Key("migrations", "How a storage is brought up to date.", .object(migrations)),
                Key("sync_config", "What clients get.", .object(syncConfig)),
                Key("sync_rules", "Another name of sync_config, which counts more.", .object(syncConfig)),
                Key("client_auth", "Who clients are. Without it, every client is rejected.", .object(clients)),
                Key("host", "The address to listen on; 0.0.0.0 by default.", .text),
                Key("port", "The port; 8080 by default.", port),
                Key("tls", "Encrypts the port.", .object(tls)),
                Key("api", "Administration and limits.", .object(api)),
                Key("telemetry", "Metrics; nothing is ever sent anywhere.", .object(telemetry)),
                Key("healthcheck", "Probes are answered when this is left out.", .object(healthcheck)),
                Key("system", "The log.", .object(system)),
                Key("development", "Never where strangers can reach the service.", .object(development)),
            ] + withoutEffect("")
        )
    }

    /// The keys of the established service's files that do nothing here.
    private static func withoutEffect(_ section: String, except known: [Key] = []) -> [Key] {
        EstablishedKey.all.compactMap { key in
            guard key.section == section, case .noEffect(let reason, _) = key.treatment,
                !known.contains(where: { $0.name == key.name })
            else { return nil }
            return Key(key.name, "No effect here: \(reason).", .anything)
        }
    }

    // MARK: Databases

    private static var replication: SchemaObject {
        let common = [
            Key("id", "What the admin API calls the connection.", .text),
            Key("tag", "What sync configs call the connection.", .text),
        ]
        let sources = CommandModules.current.sources.map { module in
            let keys = module.schemaKeys + common
            return SchemaObject(
                type: module.type,
                keys: keys + withoutEffect("replication.connections[]", except: keys)
            )
        }
        return SchemaObject(keys: [Key("connections", "A list with one connection.", .list(.variants(sources)))])
    }

    private static var storages: [SchemaObject] {
        CommandModules.current.storages.map { module in
            SchemaObject(
                type: module.type,
                keys: module.schemaKeys + withoutEffect("storage", except: module.schemaKeys)
            )
        }
    }

    private static let migrations = SchemaObject(keys: [
        Key(
            "disable_auto_migration",
            "Whether a start refuses a storage that powersync migrate has to change.",
            .boolean
        )
    ])

    private static let syncConfig = SchemaObject(keys: [
        Key("path", "The file of the sync config, which is watched.", .text),
        Key("content", "Its text, instead of a file.", .text),
        Key("exit_on_error", "Whether a config with errors stops the start; true by default.", .boolean),
        Key("version_label", "What you call this version.", .text),
    ])

    // MARK: Clients and operators

    private static var clients: SchemaObject {
        let keys = [
            Key("audience", "What aud of a token may be.", .oneOrMore(.text)),
            Key("jwks_uri", "Key sets of identity providers.", .oneOrMore(.text)),
            Key("jwks_reject_ip_ranges", "Where no key set may be: 10.0.0.0/8, or local.", .oneOrMore(.text)),
            Key("block_local_jwks", "Whether key sets on private addresses are refused.", .boolean),
            Key("jwks", "Keys of your own.", .object(SchemaObject(keys: [Key("keys", "JSON Web Keys.", keySet)]))),
            Key("supabase", "Whether tokens of the Supabase project are accepted.", .boolean),
            Key("supabase_jwt_secret", "The secret of a project that signs with one.", .text),
        ]
        return SchemaObject(keys: keys + withoutEffect("client_auth"))
    }

    private static var keySet: SchemaNode {
        let keys = [
            Key("kty", "The kind of key.", .choice(["oct", "RSA", "EC", "OKP"])),
            Key("alg", "The algorithm.", .text), Key("kid", "The id of the key.", .text),
            Key("k", "Of oct: the secret, in base64url.", .text), Key("n", "Of RSA.", .text),
            Key("e", "Of RSA.", .text),
            Key("crv", "Of EC and OKP.", .text), Key("x", "Of EC and OKP.", .text), Key("y", "Of EC.", .text),
            Key("use", "sig, or nothing.", .text), Key("key_ops", "verify, or nothing.", .oneOrMore(.text)),
        ]
        return .list(.object(SchemaObject(keys: keys + withoutEffect("client_auth.jwks.keys[]"), isOpen: true)))
    }

    private static var api: SchemaObject {
        let limits = [
            ("max_concurrent_connections", "Streams over HTTP, and as many over WebSocket; 200 by default."),
            ("max_streams_per_user", "Streams of one user; 100 by default."),
            ("max_data_fetch_concurrency", "Streams that read bucket data at the same time; 10 by default."),
            ("max_read_ahead_bytes", "Bytes read for clients and not sent; 268435456 by default."),
            ("max_buckets_per_connection", "Buckets of a client; 1000 by default."),
            ("max_parameter_query_results", "Rows of the lookups of a client; 1000 by default."),
        ]
        let parameters = limits.map { Key($0.0, $0.1, .integer(anyNumber)) } + withoutEffect("api.parameters")
        return SchemaObject(
            keys: [
                Key("tokens", "Tokens of the admin API and the dashboard: !env PS_ADMIN_TOKEN.", .oneOrMore(.text)),
                Key("parameters", "Limits.", .object(SchemaObject(keys: parameters))),
            ] + withoutEffect("api")
        )
    }

    private static let tls = SchemaObject(keys: [
        Key("certificate", "The file with the certificate and those between it and its authority, in PEM.", .text),
        Key("private_key", "The file with its key, in PEM, without a passphrase.", .text),
    ])

    private static var telemetry: SchemaObject {
        SchemaObject(
            keys: [Key("prometheus_port", "A port of its own for /metrics; none by default.", port)]
                + withoutEffect("telemetry")
        )
    }

    private static var healthcheck: SchemaObject {
        let probes =
            [
                Key("use_http", "Whether /probes/… are answered.", .boolean),
                Key("use_legacy", "As use_http.", .boolean),
            ] + withoutEffect("healthcheck.probes")
        return SchemaObject(keys: [Key("probes", "Which probes there are.", .object(SchemaObject(keys: probes)))])
    }

    private static var system: SchemaObject {
        let levels = [
            "silly", "trace", "debug", "verbose", "http", "info", "notice", "warn", "warning", "error", "critical",
        ]
        let logging = SchemaObject(keys: [
            Key("level", "The least level; info by default.", .choice(levels)),
            Key("format", "text by default.", .choice(["text", "json"])),
        ])
        return SchemaObject(keys: [Key("logging", "The log.", .object(logging))])
    }

    private static let development = SchemaObject(keys: [
        Key("write_endpoint", "Whether POST /dev/write takes uploads into an embedded source.", .boolean),
        Key("token_endpoint", "Whether POST /dev/token signs tokens for anybody.", .boolean),
        Key("dashboard", "Whether there is a dashboard for whoever has the key of the process.", .boolean),
    ])
}

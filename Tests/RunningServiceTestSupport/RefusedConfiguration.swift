package import PowerSyncServiceCore
import Testing

/// A configuration file that is refused, and how.
package struct RefusedConfiguration: CustomTestStringConvertible, Sendable {
    package var yaml: String
    package var line: Int?
    package var key: String?
    package var message: String
    package var code = ServiceError.Code.invalidConfiguration

    package var testDescription: String { "\(key ?? "file"): \(message)" }

    /// The smallest file that can be used, with more lines.
    package static func yaml(
        _ more: String = "",
        source: String = "type: embedded\n      path: data/source.db"
    ) -> String {
        """
        replication:
          connections:
            - \(source)
        storage: {type: sqlite, path: data/buckets.db}
        sync_config: {content: "streams: {}"}
        \(more)
        """
    }

    /// Files that are refused; `PS_A` is "text" in the environment.
    package static let all: [RefusedConfiguration] = [
        RefusedConfiguration(yaml: "", message: "the file is empty"),
        RefusedConfiguration(yaml: "- a", line: 1, message: "expected a mapping"),
        RefusedConfiguration(yaml: "a: [", line: 2, message: "not valid YAML"),
        RefusedConfiguration(yaml: "port: 1\nport: 2", line: 1, message: "not valid YAML"),
        RefusedConfiguration(yaml: "a: {k: hunter2}\na: 2", line: 1, message: "not valid YAML: a is there twice"),
        RefusedConfiguration(yaml: "storage: {}", line: 1, key: "replication", message: "missing"),
        RefusedConfiguration(
            yaml: "replication: {connections: []}",
            line: 1,
            key: "replication.connections",
            message: "missing"
        ),
        RefusedConfiguration(
            yaml: "replication: {connections: [{}, {}]}",
            line: 1,
            key: "replication.connections",
            message: "only one connection is possible"
        ),
        RefusedConfiguration(
            yaml: yaml(source: "uri: x"),
            line: 3,
            key: "replication.connections[0].type",
            message: "missing"
        ),
        RefusedConfiguration(
            yaml: yaml(source: "type: mssql"),
            line: 3,
            key: "replication.connections[0].type",
            message: "mssql cannot be replicated by this version"
        ),
        RefusedConfiguration(
            yaml: yaml(source: "type: postgresql"),
            line: 3,
            key: "replication.connections[0].hostname",
            message: "missing; give it here or in uri"
        ),
        RefusedConfiguration(
            yaml: yaml(source: "type: embedded"),
            line: 3,
            key: "replication.connections[0].path",
            message: "missing"
        ),
        RefusedConfiguration(yaml: yaml("port: 65536"), line: 7, key: "port", message: "between 1 and 65535"),
        RefusedConfiguration(yaml: yaml("port: x"), line: 7, key: "port", message: "\"x\" is not a whole number"),
        RefusedConfiguration(yaml: yaml("port: [1]"), line: 7, key: "port", message: "expected a single value"),
        RefusedConfiguration(yaml: yaml("port: !env PORT"), line: 7, key: "port", message: "must begin with PS_"),
        RefusedConfiguration(yaml: yaml("port: !env PS_PORT"), line: 7, key: "port", message: "PS_PORT is not set"),
        RefusedConfiguration(
            yaml: yaml("port: !env PS_A::number"),
            line: 7,
            key: "port",
            message: "PS_A is not a number"
        ),
        RefusedConfiguration(yaml: yaml("port: !env PS_A::date"), line: 7, key: "port", message: "the type is not"),
        RefusedConfiguration(
            yaml: yaml("client_auth: {jwks_uri: [https://example.com/keys, ftp://example.com/keys]}"),
            line: 7,
            key: "client_auth.jwks_uri",
            message: "begins with https://"
        ),
        RefusedConfiguration(
            yaml: yaml("client_auth: {jwks_uri: https://example.com/keys, jwks_reject_ip_ranges: [10.0.0.0/40]}"),
            line: 7,
            key: "client_auth.jwks_reject_ip_ranges",
            message: "10.0.0.0/40"
        ),
        RefusedConfiguration(
            yaml: yaml("client_auth: {supabase: true, supabase_jwt_secret: short}"),
            line: 7,
            key: "client_auth.supabase_jwt_secret",
            message: "can be guessed"
        ),
        RefusedConfiguration(
            yaml: yaml("port: 9090\ntelemetry: {prometheus_port: 9090}"),
            line: 8,
            key: "telemetry.prometheus_port",
            message: "choose another one"
        ),
        RefusedConfiguration(
            yaml: yaml("client_auth: {supabase: true}"),
            line: 7,
            key: "client_auth.supabase",
            message: "the host of the source is not db.<reference>.supabase.co"
        ),
        RefusedConfiguration(
            yaml: yaml("client_auth:\n  jwks:\n    keys:\n      - kty: oct\n        alg: HS256"),
            line: 10,
            key: "client_auth.jwks.keys[0].k",
            message: "needs \"k\""
        ),
        RefusedConfiguration(
            yaml: yaml("api: {parameters: {max_concurrent_connections: 0}}"),
            line: 7,
            key: "api.parameters.max_concurrent_connections",
            message: "at least 1"
        ),
        RefusedConfiguration(
            yaml: yaml("system: {logging: {level: loud}}"),
            line: 7,
            key: "system.logging.level",
            message: "\"loud\" is not one of"
        ),
        RefusedConfiguration(
            yaml: yaml("development: {token_endpoint: maybe}"),
            line: 7,
            key: "development.token_endpoint",
            message: "is not true or false"
        ),
        RefusedConfiguration(
            yaml: yaml("development: {write_endpoints: false}"),
            line: 7,
            key: "development.write_endpoints",
            message: "unknown key"
        ),
        RefusedConfiguration(
            yaml: yaml("tls: {certificate: cert.pem}"),
            line: 7,
            key: "tls.private_key",
            message: "missing; give a file"
        ),
        RefusedConfiguration(
            yaml: yaml("migrations: {disable_auto_migration: perhaps}"),
            line: 7,
            key: "migrations.disable_auto_migration",
            message: "is not true or false"
        ),
    ]
}

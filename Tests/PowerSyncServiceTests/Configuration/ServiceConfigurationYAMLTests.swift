import Foundation
import Logging
import PowerSyncAuth
import RunningServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncService

/// Reading the configuration file (docs/service.md "Configuration").
@Suite struct ServiceConfigurationYAMLTests {
    private static func read(_ yaml: String, _ environment: [String: String] = [:]) throws -> ServiceConfiguration {
        try ServiceConfiguration(yaml: yaml, file: "/etc/ps/service.yaml", environment: environment)
    }

    @Test func theSmallestFileHasDefaults() throws {
        let configuration = try Self.read(RefusedConfiguration.yaml())
        #expect(configuration.source == .embedded(path: "/etc/ps/data/source.db", statements: []))
        #expect(configuration.storage == .sqlite(path: "/etc/ps/data/buckets.db"))
        #expect(configuration.syncConfig == .content("streams: {}"))
        #expect(configuration.port == 8080)
        #expect(configuration.host == "0.0.0.0")
        // Only this machine reads metrics, unless the file says where.
        #expect(configuration.metricsHost == "127.0.0.1")
        #expect(configuration.limits == ServiceLimits())
        #expect(configuration.probes.useHTTP)
        #expect(configuration.development == DevelopmentEndpoints())
        #expect(configuration.migratesAutomatically)
        #expect(configuration.tls == nil)
        #expect(configuration.warnings == ["/etc/ps/service.yaml: client_auth: missing, every client is rejected"])
    }

    @Test func everythingIsRead() throws {
        let configuration = try Self.read(
            """
            replication:
              connections:
                - type: embedded
                  id: default
                  path: /var/source.db
                  tables:
                    - CREATE TABLE lists (id TEXT PRIMARY KEY)
                    - CREATE TABLE todos (id TEXT PRIMARY KEY)
                  schema: |
                    CREATE TABLE users (id TEXT PRIMARY KEY);
            storage:
              type: sqlite
              path: /var/buckets.db
            port: !env PS_PORT::number
            host: 127.0.0.1
            sync_config:
              path: sync.yaml
              exit_on_error: true
            client_auth:
              audience: powersync-dev
              jwks:
                keys:
                  - {kty: oct, alg: HS256, kid: a, k: !env PS_SECRET, use: sig}
            api:
              parameters:
                max_concurrent_connections: 3
                max_streams_per_user: 7
                max_read_ahead_bytes: 1000000
                max_data_fetch_concurrency: 4
                max_buckets_per_connection: 5
                max_parameter_query_results: 6
            healthcheck: {probes: {use_http: false}}
            system: {logging: {level: warn, format: json}}
            development: {write_endpoint: false, token_endpoint: !env PS_DEV::boolean}
            migrations: {disable_auto_migration: true}
            tls: {certificate: tls/cert.pem, private_key: /etc/key.pem}
            """,
            ["PS_PORT": "9000", "PS_SECRET": "AQID", "PS_DEV": "1"]
        )
        #expect(
            configuration.source
                == .embedded(
                    path: "/var/source.db",
                    statements: [
                        "CREATE TABLE lists (id TEXT PRIMARY KEY)", "CREATE TABLE todos (id TEXT PRIMARY KEY)",
                        "CREATE TABLE users (id TEXT PRIMARY KEY);\n",
                    ]
                )
        )
        #expect(configuration.port == 9000)
        #expect(configuration.host == "127.0.0.1")
        #expect(configuration.syncConfig == .file("/etc/ps/sync.yaml"))
        #expect(configuration.authentication.audience == ["powersync-dev"])
        #expect(configuration.authentication.keys.map(\.key.id) == ["a"])
        #expect(configuration.limits.maxConcurrentConnections == 3)
        #expect(configuration.limits.maxStreamsPerUser == 7)
        #expect(configuration.limits.maxReadAheadBytes == 1_000_000)
        #expect(configuration.limits.maxDataFetchConcurrency == 4)
        #expect(configuration.limits.maxBucketsPerConnection == 5)
        #expect(configuration.limits.maxParameterQueryResults == 6)
        #expect(!configuration.probes.useHTTP)
        #expect(configuration.logging.level == .warning)
        #expect(configuration.logging.format == .json)
        #expect(!configuration.development.writeEndpoint)
        #expect(configuration.development.tokenEndpoint)
        #expect(!configuration.migratesAutomatically)
        #expect(configuration.tls == TLSFiles(certificate: "/etc/ps/tls/cert.pem", privateKey: "/etc/key.pem"))
        #expect(configuration.warnings.isEmpty)
    }

    @Test(arguments: ["0.0.0.0", "192.168.1.7", "::1"])
    func addressOfTheMetrics(_ host: String) throws {
        let configuration = try Self.read(RefusedConfiguration.yaml("host: \"\(host)\""))
        #expect(configuration.host == host)
        #expect(configuration.metricsHost == host)
    }

    @Test func keysFromElsewhere() throws {
        let authentication = try Self.read(
            RefusedConfiguration.yaml(
                """
                client_auth:
                  jwks_uri: [https://a.example/keys, "http://b.example:8080/keys"]
                  supabase: true
                  supabase_jwt_secret: a secret of thirty-two bytes, yes
                  block_local_jwks: true
                  jwks_reject_ip_ranges: [203.0.113.0/24]
                  audience: [app]
                """
            )
        ).authentication
        let urls = ["https://a.example/keys", "http://b.example:8080/keys"]
        #expect(authentication.keySets.map(\.absoluteString) == urls)
        #expect(authentication.supabaseSecret == "a secret of thirty-two bytes, yes")
        #expect(authentication.rejectedKeySetAddresses == ["203.0.113.0/24", "local"])
        #expect(authentication.rejectsIPv6KeySets)
        #expect(authentication.keySources(clock: ContinuousClock()).all.count == 4)
    }

    @Test func theEnvironmentReplacesTheLogOptions() throws {
        let environment = ["PS_LOG_LEVEL": "debug", "PS_LOG_FORMAT": "json"]
        for more in ["", "system: {logging: {level: error, format: text}}"] {
            let configuration = try Self.read(RefusedConfiguration.yaml(more), environment)
            #expect(configuration.logging.level == .debug)
            #expect(configuration.logging.format == .json)
        }
    }

    @Test func allThatIsWrongIsSaidInOneRun() throws {
        let error = #expect(throws: ServiceError.self) {
            try Self.read(
                RefusedConfiguration.yaml(
                    """
                    client_auth: {audience: [a], jwks: {keys: []}, audiance: b}
                    prot: 1
                    telemetry: {prometheus_port: 0}
                    api: {tokens: [short], parameters: {max_concurrent_connections: many}}
                    hots: 127.0.0.1
                    completely_else: 1
                    """
                )
            )
        }
        #expect(
            error.map { "\($0)" }?.split(separator: "\n").map { String($0) } == [
                "/etc/ps/service.yaml:7: client_auth.audiance: unknown key. Did you mean “audience”?",
                "/etc/ps/service.yaml:8: prot: unknown key. Did you mean “port”?",
                "/etc/ps/service.yaml:9: telemetry.prometheus_port: \"0\" is not a whole number between 1 and 65535 [PSYNC_S1110]",
                """
                /etc/ps/service.yaml:10: api.tokens: entry 1 has 5 characters and can be guessed; at least 8 are needed: draw it at random, \
                with openssl rand -hex 32 for example
                """,
                """
                /etc/ps/service.yaml:10: api.parameters.max_concurrent_connections: "many" is not a whole number of at least 1
                """,
                "/etc/ps/service.yaml:11: hots: unknown key. Did you mean “host”?",
                "/etc/ps/service.yaml:12: completely_else: unknown key. Leave it out.",
            ]
        )
    }

    /// Keys of the established service that do nothing here, with values that ask for something.
    @Test func keysWithoutEffectAreWarnings() throws {
        let configuration = try Self.read(
            RefusedConfiguration.yaml(
                """
                client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: a, k: AQID}]}}
                api: {parameters: {bucket_count_cache_ttl_minutes: 5, checkpoint_request_retention_minutes: 5}}
                """
            )
        )
        #expect(
            configuration.warnings == [
                """
                /etc/ps/service.yaml:8: api.parameters.bucket_count_cache_ttl_minutes: no effect here: there is no such cache
                """,
                "/etc/ps/service.yaml:8: api.parameters.checkpoint_request_retention_minutes: no effect here: it is always 60",
            ]
        )
        let usual = "api: {parameters: {checkpoint_request_retention_minutes: 60}}"
        #expect(try Self.read(RefusedConfiguration.yaml(usual)).warnings.count == 1)
    }

    @Test(arguments: RefusedConfiguration.all)
    func errorsNameFileLineAndKey(_ test: RefusedConfiguration) throws {
        #expect {
            _ = try Self.read(test.yaml, ["PS_A": "text"])
        } throws: { error in
            let error = try #require(error as? ServiceError)
            #expect(error.code == test.code)
            #expect(error.file == "/etc/ps/service.yaml")
            #expect(error.line == test.line)
            #expect(error.key == test.key)
            #expect(error.message.contains(test.message), "\(error.message)")
            // The file may hold some.
            #expect(!"\(error)".contains("hunter2"))
            return true
        }
    }

    @Test func aMissingFileIsNamed() throws {
        #expect {
            _ = try ServiceConfiguration(contentsOf: "/nowhere/service.yaml", environment: [:])
        } throws: { error in
            (error as? ServiceError)?.file == "/nowhere/service.yaml"
        }
    }

    @Test func errorsReadAsOneLine() {
        let error = ServiceError(.invalidConfiguration, "wrong", file: "a.yaml", line: 3, key: "port")
        #expect("\(error)" == "a.yaml:3: port: wrong")
        let other = ServiceError(.invalidSyncConfig, "bad", file: "s.yaml", diagnostics: ["s.yaml:1:1: error: x [y]"])
        #expect("\(other)" == "s.yaml: bad\n  s.yaml:1:1: error: x [y]")
    }
}

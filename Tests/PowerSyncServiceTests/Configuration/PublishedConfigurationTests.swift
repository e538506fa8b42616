import Foundation
import PowerSyncServiceCore
import PowerSyncServicePostgres
import Testing

@testable import PowerSyncService

/// Configuration files as people have published them, and what is right for each.
@Suite struct PublishedConfigurationTests {
    private static func errors(_ yaml: String) -> [ServiceError] {
        do {
            _ = try ServiceConfiguration(yaml: yaml, file: "service.yaml", environment: [:])
            return []
        } catch {
            return [error] + error.others
        }
    }

    /// Each key says what was meant, all in one run.
    @Test func keysThatAreSpelledOtherwise() throws {
        let yaml = """
            api: {token: an-admin-token-of-some-length}
            log_level: info
            client_auth:
              issuer: https://example.com/realm
              allow_local_jwks: true
              audience: [app]
              jwks: {keys: [{kty: oct, alg: HS256, kid: a, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0wMQ}]}
            telemetry: {enable_client_logging: true}
            replication: {connections: [{type: postgresql, uri: "postgresql://u:pw-of-ten-1@127.0.0.1:1/app"}]}
            storage: {type: sqlite, path: data/b.db, reject_ip_ranges: [local]}
            sync_config: {content: "config: {edition: 3}\\nstreams: {}\\n"}
            """
        let errors = Self.errors(yaml)
        #expect(errors.map(\.key) == ["api.token", "log_level", "client_auth.issuer", "client_auth.allow_local_jwks"])
        #expect(errors.map(\.line) == [1, 2, 4, 5])
        for (error, word) in zip(
            errors,
            ["tokens: [", "system: {logging: {level: info}}", "audience", "block_local_jwks"]
        ) {
            #expect(error.message.contains(word), "\(error)")
        }
        // What is advised can be written.
        let corrected = yaml.replacing("token: an", with: "tokens: [an").replacing("length}", with: "length]}")
            .replacing("log_level: info", with: "system: {logging: {level: info}}")
            .replacing("  issuer: https://example.com/realm\n", with: "")
            .replacing("allow_local_jwks: true", with: "block_local_jwks: false")
        let configuration = try ServiceConfiguration(yaml: corrected, file: "service.yaml", environment: [:])
        #expect(configuration.warnings.count == 2)
        #expect(configuration.warnings.contains { $0.contains("telemetry.enable_client_logging: no effect here") })
        #expect(configuration.warnings.contains { $0.contains("storage.reject_ip_ranges: no effect here") })
    }

    /// All keys of the newest files, but for the one that is refused.
    @Test func theNewestKeysLoad() throws {
        let yaml = """
            metadata: {a: b}
            parameters: {x: 1}
            dev: {demo_auth: true}
            replication:
              connections:
                - type: postgresql
                  uri: postgresql://repl:pw1234567@127.0.0.1:5999/app
                  id: default
                  tag: default
                  debug_api: true
                  snapshot_socket_timeout: 10
                  reject_ip_ranges: []
                  slot_name_prefix: ps_
                  max_pool_size: 4
                  schema: public
                  additionalConfig: {trustServerCertificate: true}
            storage:
              type: postgresql
              uri: postgresql://repl:pw1234567@127.0.0.1:5999/app
              id: x
              tag: y
              default_storage_version: 2
              batch_limits: {max_estimated_size: 1}
              slot_name_prefix: a
              reject_ip_ranges: [10.0.0.0/8]
              debug_api: true
              clear_batch_throttle_rate: 0.5
              bulk_read_preference: secondary
              object_storage: {enabled: false}
              chunk_compaction_concurrency: 2
              max_pool_size: 4
            port: 18088
            sync_config: {path: sync.yaml, exit_on_error: false}
            client_auth:
              jwks: {keys: [{kty: oct, alg: HS256, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0wMQ, kid: a, use: sig, key_ops: [verify]}]}
              block_local_jwks: false
              jwks_reject_ip_ranges: []
              audience: [a]
            api:
              tokens: [aaaaaaaaaaaaaaaaaaaaaaaaaa]
              parameters: {bucket_count_cache_ttl_minutes: 1, checkpoint_request_retention_minutes: 1, max_concurrent_connections: 5, max_data_fetch_concurrency: 3, max_buckets_per_connection: 3, max_parameter_query_results: 3}
            telemetry: {prometheus_port: 18089, internal_service_endpoint: http://x, disable_telemetry_sharing: false}
            healthcheck: {probes: {use_filesystem: true, use_http: true, use_legacy: true}}
            system: {logging: {level: silly, format: json}}
            migrations: {disable_auto_migration: false}
            """
        let errors = Self.errors(yaml)
        #expect(errors.map(\.key) == ["replication.connections[0].schema"])
        #expect(errors.first?.message.contains("write the schema in the queries") == true)
        let configuration = try ServiceConfiguration(
            yaml: yaml.replacing("      schema: public\n", with: ""),
            file: "service.yaml",
            environment: [:]
        )
        #expect(configuration.warnings.count == 21, "\(configuration.warnings.joined(separator: "\n"))")
        #expect(configuration.warnings.allSatisfy { $0.contains(": no effect here: ") })
        guard let storage = (configuration.storage.module as? PostgresStorageModule)?.settings else {
            Issue.record("not a PostgreSQL storage")
            return
        }
        // They hold for the connection of the storage, too.
        #expect(try !storage.connectionString().rejectedAddresses.isEmpty)
    }

    @Test func ofOtherDatabasesTheKindIsNamed() {
        let errors = Self.errors(
            """
            replication: {connections: [{type: mssql, uri: "mssql://u:p@127.0.0.1/app"}]}
            storage: {type: sqlite, path: data/b.db}
            sync_config: {content: "config: {edition: 3}\\nstreams: {}\\n"}
            client_auth: {audience: [a]}
            """
        )
        #expect(errors.map(\.key) == ["replication.connections[0].type"])
        #expect(errors.first?.message.contains("mssql cannot be replicated") == true)
    }
}

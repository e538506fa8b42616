import Foundation
import Logging
import PowerSyncProtocol
import PowerSyncServiceCore
import Testing

@testable import PowerSyncService

/// Configuration files of the established service load as they are, or say what to write instead.
@Suite struct EstablishedKeyTests {
    /// A file that has all sections.
    private static let file = """
        _type: self-hosted
        replication:
          connections:
            - type: postgresql
              uri: postgresql://repl:pw1234567@127.0.0.1:5999/app?sslmode=disable
              id: default
              tag: default
              slot_name_prefix: ps_
              max_pool_size: 4
              reject_ip_ranges: []
        storage:
          type: TYPE
        port: "18088"
        sync_config: {path: sync.yaml, version_label: 2026.10, exit_on_error: false}
        client_auth:
          jwks: {keys: [{kty: oct, alg: HS256, kid: a, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0wMQ, use: sig, key_ops: [verify]}]}
          block_local_jwks: false
          jwks_reject_ip_ranges: []
          audience: [a]
        api:
          tokens: [aaaaaaaaaaaaaaaaaaaaaaaaaa]
          parameters:
            max_concurrent_connections: 5
            max_data_fetch_concurrency: 3
            max_buckets_per_connection: 3
            max_parameter_query_results: 3
        telemetry: {prometheus_port: "18089"}
        healthcheck:
          probes: {use_http: true, use_legacy: true, use_filesystem: false}
        system: {logging: {level: silly, format: json}}
        migrations: {disable_auto_migration: false}
        """

    private static func read(_ yaml: String) throws -> ServiceConfiguration {
        let storage = "sqlite\n  path: buckets.db"
        return try ServiceConfiguration(
            yaml: yaml.replacing("TYPE", with: storage),
            file: "/etc/service.yaml",
            environment: [:]
        )
    }

    @Test func whatBothServicesUseIsUsedWithoutAWord() throws {
        let configuration = try Self.read(Self.file)
        #expect(configuration.warnings == [])
        #expect(configuration.port == 18_088)
        #expect(configuration.metricsPort == 18_089)
        #expect(!configuration.exitsOnSyncConfigError)
        #expect(configuration.syncConfigVersionLabel == "2026.10")
        #expect(configuration.limits.maxConcurrentConnections == 5)
        #expect(configuration.logging.level == .trace)
        #expect(configuration.authentication.keys.count == 1)
    }

    /// The file with one more key.
    private static func file(with key: EstablishedKey, _ value: String) -> String {
        let entry = "\(key.name): \(value)"
        return switch key.section {
        case "": file + "\n" + entry
        case "replication.connections[]": file.replacing("      id: default", with: "      id: default\n      \(entry)")
        case "storage": file.replacing("  type: TYPE", with: "  type: TYPE\n  \(entry)")
        case "telemetry": file.replacing("telemetry: {", with: "telemetry: {\(entry), ")
        case "healthcheck.probes":
            file.replacing(", use_filesystem: false", with: "").replacing("probes: {", with: "probes: {\(entry), ")
        case "api": file.replacing("api:\n", with: "api:\n  \(entry)\n")
        case "api.parameters": file.replacing("  parameters:\n", with: "  parameters:\n    \(entry)\n")
        case "client_auth": file.replacing("client_auth:\n", with: "client_auth:\n  \(entry)\n")
        case "client_auth.jwks.keys[]": file.replacing("kid: a,", with: "kid: a, \(entry),")
        default: ""
        }
    }

    @Test(arguments: EstablishedKey.all.indices)
    func eachKeyHasNoEffectOrIsRefused(_ index: Int) throws {
        let key = EstablishedKey.all[index]
        let path = (key.section.isEmpty ? "" : key.section.replacing("[]", with: "[0]") + ".") + key.name
        for value in ["true", "5", "{a: b}", "[x]", "text"] {
            let yaml = Self.file(with: key, value)
            switch key.treatment {
            case .noEffect(let reason, let usual):
                let warnings = try Self.read(yaml).warnings
                #expect(warnings.count == 1, "\(path): \(warnings)")
                #expect(warnings.first?.hasSuffix("\(path): no effect here: \(reason)") == true, "\(warnings)")
                if let usual { #expect(try Self.read(Self.file(with: key, usual)).warnings == [], "\(path)") }
            case .refused(let instead):
                let error = #expect(throws: ServiceError.self, "\(path)") { try Self.read(yaml) }
                #expect(error?.key == path)
                #expect(error?.message == instead)
                #expect(error?.others.isEmpty == true)
            }
        }
    }

    @Test func eachKeyIsThereOnce() {
        let paths = EstablishedKey.all.map { "\($0.section).\($0.name)" }
        #expect(Set(paths).count == paths.count)
    }

    @Test func whatSaysWhatToWriteInsteadIsRightTheFileWithItCanBeUsed() throws {
        _ = try Self.read(Self.file.replacing("level: silly", with: "level: info"))
        let audience = try Self.read(Self.file.replacing("audience: [a]", with: "audience: [one, another]"))
        #expect(audience.authentication.audience == ["one", "another"])
        #expect(try Self.read(Self.file.replacing("local_jwks: false", with: "local_jwks: true")).warnings == [])
    }

    @Test(arguments: ["mongodb", "mssql", "convex"])
    func otherSourcesNameThoseThereAre(_ type: String) {
        let error = #expect(throws: ServiceError.self) {
            try Self.read(Self.file.replacing("- type: postgresql", with: "- type: \(type)"))
        }
        #expect(error?.key == "replication.connections[0].type")
        #expect(error?.message.contains("\"postgresql\"") == true && error?.message.contains("\"embedded\"") == true)
    }

    @Test func aStorageOfMongoSaysThatBucketsAreMadeAnew() {
        let error = #expect(throws: ServiceError.self) {
            try ServiceConfiguration(
                yaml: Self.file.replacing("TYPE", with: "mongodb\n  uri: mongodb://u:hunter2@h/d"),
                file: "a",
                environment: [:]
            )
        }
        #expect(error?.message.contains("buckets are made anew") == true)
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }

    @Test func ofTwoNamesOfTheSyncConfigTheFirstCounts() throws {
        let configuration = try Self.read(Self.file + "\nsync_rules: {content: 'a'}")
        #expect(configuration.syncConfig == .file("/etc/sync.yaml"))
        #expect(configuration.warnings.count == 1)
        let both = try Self.read(Self.file.replacing("path: sync.yaml", with: "content: a, path: sync.yaml"))
        #expect(both.syncConfig == .file("/etc/sync.yaml"))
        #expect(both.warnings.count == 1)
        let alias = try Self.read(Self.file.replacing("sync_config:", with: "sync_rules:"))
        #expect(alias.syncConfig == .file("/etc/sync.yaml"))
        #expect(alias.warnings == [])
    }

    @Test(arguments: [("1", 1), ("80", 80), ("\"443\"", 443), ("65535", 65_535), ("'65535'", 65_535)])
    func portsAreNumbersOrText(text: String, port: Int) throws {
        let configuration = try Self.read(Self.file.replacing("\"18088\"", with: text))
        #expect(configuration.port == port)
        #expect(try Self.read(Self.file.replacing("\"18089\"", with: text)).metricsPort == port)
    }

    @Test(arguments: ["0", "65536", "-1", "80.5", "http"])
    func whatIsNoPortIsRefused(_ text: String) {
        for (value, key) in [("\"18088\"", "port"), ("\"18089\"", "telemetry.prometheus_port")] {
            let error = #expect(throws: ServiceError.self) { try Self.read(Self.file.replacing(value, with: text)) }
            #expect(error?.key == key)
            #expect(error?.catalogueCode?.rawValue == "PSYNC_S1110")
        }
    }

    @Test(arguments: ["use: enc", "key_ops: [sign]"])
    func otherUsesOfKeys(_ member: String) throws {
        let name = member.prefix { $0 != ":" }
        let usual = name == "use" ? "use: sig" : "key_ops: [verify]"
        let configuration = try Self.read(Self.file.replacing(usual, with: member))
        #expect(configuration.authentication.keys.isEmpty)
        #expect(configuration.warnings.contains { $0.contains("client_auth.jwks.keys[0].\(name)") })
    }

    @Test(arguments: ["[::1]", "::1", "127.0.0.1", "localhost", "0.0.0.0", "::", "[::]"])
    func hostsAreAddressesAndNames(_ host: String) throws {
        let configuration = try Self.read(Self.file + "\nhost: \"\(host)\"")
        #expect(configuration.host == host.filter { !"[]".contains($0) })
    }

    @Test(
        arguments: ["localhost:8080", "127.0.0.1:80", "http://localhost", "*", "[::1]:8080", "[localhost]", "a/b"]
    )
    func whatIsNoHostSaysWhatToWrite(_ host: String) {
        let error = #expect(throws: ServiceError.self) { try Self.read(Self.file + "\nhost: \"\(host)\"") }
        #expect(error?.key == "host")
        #expect(error?.message.contains("write") == true)
    }

    // MARK: Files of the hosted service

    private static let hosted = """
        _type: cloud
        name: Production
        region: eu
        replication:
          connections:
            - type: postgresql
              name: Default
              uri: postgresql://postgres:[HIDDEN_PASSWORD]@db.example.com:5432/postgres
              password: {secret_ref: default_password}
              sslmode: verify-full
        client_auth:
          supabase: false
          jwks_uri: https://example.com/jwks.json
          additional_audiences: [app]
          allow_temporary_tokens: true
        """

    @Test(
        arguments: [
            hosted, hosted.replacing("_type: cloud\n", with: ""), hosted.replacing("secret_ref", with: "secret"),
            hosted.replacing("_type: cloud\n", with: "").replacing("secret_ref", with: "secret"),
        ]
    )
    func aFileOfTheHostedServiceIsRefusedInOneSentenceWithTheLines(_ yaml: String) throws {
        let error = #expect(throws: ServiceError.self) { try Self.read(yaml) }
        let message = try #require(error?.message)
        #expect(error?.others.isEmpty == true)
        #expect(message.contains("hosted service"))
        // What it says to write can be used.
        let lines = message.split(separator: "\n").dropFirst().map { $0.dropFirst(2) }.joined(separator: "\n")
        let configuration = try ServiceConfiguration(
            yaml: lines,
            file: "service.yaml",
            environment: ["PS_DATA_SOURCE_URI": "postgresql://u:word@db.example.com/postgres"]
        )
        #expect(configuration.warnings == [])
        #expect(configuration.authentication.audience == ["app"])
        #expect(configuration.authentication.keySets.map(\.absoluteString) == ["https://example.com/jwks.json"])
    }

    @Test func anotherKindOfFileIsRefused() {
        let error = #expect(throws: ServiceError.self) {
            try Self.read(Self.file.replacing("self-hosted", with: "selfhosted"))
        }
        #expect(error?.key == "_type")
    }
}

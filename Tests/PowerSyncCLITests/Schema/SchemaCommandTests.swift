import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncCLI

/// The schemas for editors have the keys that the readers have, in every mapping: all keys of all mappings are tried in each.
@Suite(.timeLimit(.minutes(2))) struct SchemaCommandTests {
    /// A mapping of a file.
    struct Mapping: CustomTestStringConvertible, Sendable {
        /// Where it is in the schema: names of keys, `[]` for an item, `{}` for a value with a name, `=x` for the variant x.
        var path: String
        /// How errors name it.
        var name: String
        /// Its keys that the document has already.
        var present: Set<String> = []
        /// The document with a key more in the mapping, in flow style.
        var document: @Sendable (_ key: String) -> String

        var testDescription: String { path.isEmpty ? "the file" : path }
    }

    private static func schema(_ file: SchemaCommand.File) throws -> JSONObject { try JSONObject(parsing: file.text) }

    /// The names of all keys, in all mappings.
    private static func names(_ schema: JSONObject) -> Set<String> {
        var names: Set<String> = []
        for member in schema.members {
            if member.name == "properties", case .object(let properties) = member.value {
                names.formUnion(properties.members.map(\.name))
            }
            switch member.value {
            case .object(let object): names.formUnion(Self.names(object))
            case .array(let items):
                for case .object(let object) in items { names.formUnion(Self.names(object)) }
            default: break
            }
        }
        return names
    }

    private static func universe(_ file: SchemaCommand.File) throws -> [String] {
        let known = try names(schema(file)).union(EstablishedKey.all.map(\.name))
        return known.union(["hots", "zzz"]).sorted()
    }

    /// The part of a schema that is about a mapping.
    private static func part(_ path: String, of schema: JSONObject) throws -> JSONObject {
        var part = schema
        for step in path.split(separator: " ").map(String.init) {
            switch step {
            case "[]": part = part.object("items")
            case "{}": part = part.object("additionalProperties")
            case _ where step.hasPrefix("="):
                part = try #require(
                    part.objects("oneOf").first { variant in
                        variant.object("properties").object("type").text("const") == String(step.dropFirst())
                    }
                )
            default: part = part.object("properties").object(step)
            }
        }
        return part
    }

    private static func accepts(_ key: String, _ part: JSONObject) -> Bool {
        part["additionalProperties"] == true || part.object("properties")[key] != nil
    }

    // MARK: Service configurations

    private static let base: KeyValuePairs = [
        "replication": "{connections: [{type: embedded, path: s.db}]}", "storage": "{type: sqlite, path: b.db}",
        "sync_config": "{path: sync.yaml}",
    ]

    private static func service(
        _ path: String,
        _ name: String,
        _ section: String,
        _ present: Set<String> = [],
        _ yaml: @escaping @Sendable (String) -> String
    ) -> Mapping {
        Mapping(path: path, name: name, present: present) { key in
            let others = base.filter { $0.key != section }.map { "\($0.key): \($0.value)" }
            return (others + ["\(section): \(yaml("\(key): "))"]).joined(separator: "\n")
        }
    }

    private static func connection(_ type: String, _ keys: String, _ present: Set<String>) -> Mapping {
        service(
            "replication connections [] =\(type)",
            "replication.connections[0]",
            "replication",
            present.union(["type"])
        ) { "{connections: [{type: \(type), \(keys), \($0)}]}" }
    }

    private static func storage(_ type: String, _ keys: String, _ present: Set<String>) -> Mapping {
        service("storage =\(type)", "storage", "storage", present.union(["type"])) {
            "{type: \(type), \(keys), \($0)}"
        }
    }

    static let serviceMappings: [Mapping] = [
        Mapping(path: "", name: "", present: ["replication", "storage", "sync_config"]) { key in
            base.map { "\($0.key): \($0.value)" }.joined(separator: "\n") + "\n\(key): "
        },
        service("replication", "replication", "replication", ["connections"]) {
            "{connections: [{type: embedded, path: s.db}], \($0)}"
        },
        connection("embedded", "path: s.db", ["path"]),
        connection("postgresql", "uri: 'postgresql://u:p@localhost/d'", ["uri"]),
        connection("mysql", "uri: 'mysql://u:p@localhost/d'", ["uri"]),
        storage("sqlite", "path: b.db", ["path"]),
        storage("postgresql", "uri: 'postgresql://u:p@localhost/d'", ["uri"]),
        service("migrations", "migrations", "migrations") { "{\($0)}" },
        service("sync_config", "sync_config", "sync_config", ["path"]) { "{path: sync.yaml, \($0)}" },
        service("client_auth", "client_auth", "client_auth") { "{\($0)}" },
        service("client_auth jwks", "client_auth.jwks", "client_auth") { "{jwks: {\($0)}}" },
        service("client_auth jwks keys []", "client_auth.jwks.keys[0]", "client_auth") {
            "{jwks: {keys: [{\($0)}]}}"
        },
        service("tls", "tls", "tls") { "{\($0)}" },
        service("api", "api", "api") { "{\($0)}" },
        service("api parameters", "api.parameters", "api") { "{parameters: {\($0)}}" },
        service("telemetry", "telemetry", "telemetry") { "{\($0)}" },
        service("healthcheck", "healthcheck", "healthcheck") { "{\($0)}" },
        service("healthcheck probes", "healthcheck.probes", "healthcheck") { "{probes: {\($0)}}" },
        service("system", "system", "system") { "{\($0)}" },
        service("system logging", "system.logging", "system") { "{logging: {\($0)}}" },
        service("development", "development", "development") { "{\($0)}" },
    ]

    @Test(arguments: serviceMappings)
    func theReaderOfServiceConfigurationsHasTheSameKeys(_ mapping: Mapping) throws {
        let part = try Self.part(mapping.path, of: Self.schema(.service))
        for key in try Self.universe(.service) where !mapping.present.contains(key) {
            let isAccepted = !Self.isRefused(key, mapping)
            #expect(Self.accepts(key, part) == isAccepted, "\(key)")
        }
        for key in mapping.present { #expect(Self.accepts(key, part), "\(key)") }
    }

    private static func isRefused(_ key: String, _ mapping: Mapping) -> Bool {
        let path = mapping.name.isEmpty ? key : "\(mapping.name).\(key)"
        var refusal: String?
        if case .refused(let message)? = EstablishedKey.treatment(of: key, in: mapping.name) { refusal = message }
        do {
            _ = try ServiceConfiguration(yaml: mapping.document(key), file: "powersync.yaml", environment: [:])
            return false
        } catch {
            return ([error] + error.others).contains {
                $0.key == path && ($0.message.hasPrefix("unknown key") || $0.message == refusal)
            }
        }
    }

    // MARK: Sync configs

    static let syncMappings: [Mapping] = [
        Mapping(path: "", name: "", present: ["config", "streams"]) {
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}\n\($0): {}"
        },
        Mapping(path: "config", name: "config", present: ["edition"]) {
            "config: {edition: 3, \($0): 1}\nstreams: {s: {query: SELECT * FROM t}}"
        },
        Mapping(path: "streams {}", name: "stream", present: ["query"]) {
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t, \($0): 1}}"
        },
        Mapping(path: "bucket_definitions {}", name: "definition", present: ["data"]) {
            "bucket_definitions: {d: {data: [SELECT * FROM t], \($0): 1}}"
        },
        Mapping(path: "event_definitions {}", name: "event", present: ["payloads"]) {
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}\n"
                + "event_definitions: {e: {payloads: [SELECT * FROM t], \($0): 1}}"
        },
    ]

    @Test(arguments: syncMappings)
    func theReaderOfSyncConfigsHasTheSameKeys(_ mapping: Mapping) throws {
        let part = try Self.part(mapping.path, of: Self.schema(.sync))
        for key in try Self.universe(.sync) where !mapping.present.contains(key) {
            let findings = SyncConfig.parse(mapping.document(key)).diagnostics
            let isAccepted = !findings.contains { $0.code == "yaml.unknown_key" }
            #expect(Self.accepts(key, part) == isAccepted, "\(key)")
        }
        for key in mapping.present { #expect(Self.accepts(key, part), "\(key)") }
    }

    /// A mistyped key is marked, a file that `init` writes is not.
    @Test func theSchemaRefusesWhatTheIssueIsAbout() throws {
        let root = try Self.schema(.service)
        #expect(!Self.accepts("hots", root) && Self.accepts("host", root))
        let port = root.object("properties").object("port").objects("anyOf")
        #expect(port.first?["maximum"] == 65535)
        #expect(port.last?.text("pattern")?.hasPrefix("^(PS_") == true)
    }
}

import Yams

/// A configuration file of the hosted service, which another program reads: it has no storage, and its secrets are elsewhere.
///
/// ```yaml
/// _type: cloud
/// replication:
///   connections:
///     - {type: …, password: {secret_ref: default_password}}
/// ```
package struct HostedServiceFile {
    /// What says so: `_type: cloud`, `secret_ref` or `secret`.
    private let sign: String
    private let keySets: [String]
    private let audiences: [String]
    private let isSupabase: Bool

    /// Looks whether a file is one: `nil` for every other file.
    ///
    /// - Parameter root: The file.
    init?(_ root: Node.Mapping) {
        if root.text("_type") == "cloud" {
            sign = "_type: cloud"
        } else if let key = ["replication", "storage", "client_auth", "api"].lazy.compactMap({ root.node($0) })
            .compactMap({ Self.secretKey(in: $0, depth: 0) }).first
        {
            sign = key
        } else {
            return nil
        }
        let authentication = root.node("client_auth")?.mapping
        keySets = (authentication?.texts("jwks_uri") ?? []).filter { !$0.contains("@") }
        audiences = (authentication?.texts("audience") ?? []) + (authentication?.texts("additional_audiences") ?? [])
        isSupabase = authentication?.text("supabase") == "true"
    }

    /// What to write instead: one sentence, and the lines.
    ///
    /// - Parameter modules: The first source and the first storage are the examples.
    /// - Returns: Text of several lines.
    package func message(_ modules: Modules) -> String {
        var authentication = isSupabase ? ["supabase: true"] : []
        if !keySets.isEmpty { authentication.append("jwks_uri: [\(keySets.map(\.yaml).joined(separator: ", "))]") }
        if authentication.isEmpty { authentication.append("jwks_uri: https://id.example.com/.well-known/jwks.json") }
        if !audiences.isEmpty || !isSupabase {
            authentication.append(
                "audience: [\((audiences.isEmpty ? ["powersync"] : audiences).map(\.yaml).joined(separator: ", "))]"
            )
        }
        return """
            a file of the hosted service (\(sign)), which keeps storage and secrets elsewhere; write one for a service of your own, with \
            the address of the database, its password in it, in the environment:
              replication: {connections: [\(modules.sources.first?.example ?? "")]}
              storage: \(modules.storages.first?.example ?? "")
              sync_config: {path: sync.yaml}
              client_auth: {\(authentication.joined(separator: ", "))}
            """
    }

    /// The key of a secret that is kept elsewhere: `password: {secret_ref: name}` or `password: {secret: name}`.
    private static func secretKey(in node: Node, depth: Int) -> String? {
        // Deeper than any file of a service.
        guard depth < 10 else { return nil }
        switch node {
        case .mapping(let mapping):
            for entry in mapping {
                let name = entry.key.scalar?.string
                if mapping.count == 1, let name, ["secret_ref", "secret"].contains(name) { return name }
                if let found = secretKey(in: entry.value, depth: depth + 1) { return found }
            }
            return nil
        case .sequence(let items): return items.lazy.compactMap { secretKey(in: $0, depth: depth + 1) }.first
        default: return nil
        }
    }
}

extension Node.Mapping {
    fileprivate func node(_ key: String) -> Node? { first { $0.key.scalar?.string == key }?.value }

    fileprivate func text(_ key: String) -> String? { node(key)?.scalar?.string }

    fileprivate func texts(_ key: String) -> [String] {
        switch node(key) {
        case .sequence(let items)?: items.compactMap { $0.scalar?.string }
        case .scalar(let scalar)?: [scalar.string]
        default: []
        }
    }
}

extension String {
    /// The text as a value of YAML in one line.
    fileprivate var yaml: String {
        let isPlain = !isEmpty && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_./:".contains($0)) }
        return isPlain ? self : "\"\(replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}

import PowerSyncServiceCore
import Yams

/// A configuration of the established service as one of this service.
///
/// What both services have stays as it is. Keys without effect and keys that are not known are left out and listed, secrets become variables of
/// the environment, and buckets are kept in a file where they were in a database that this service does not know.
struct ServiceFileConversion {
    /// A variable of the environment, and what the file has for it.
    struct Secret: Equatable {
        /// The name, such as `PS_DATA_SOURCE_URI`.
        var variable: String
        /// The value; `nil` when the file has a placeholder.
        var value: String?
    }

    /// Why a file cannot be taken over.
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// The new configuration.
    private(set) var tree: YAMLTree
    /// Keys without effect here, each with the reason.
    private(set) var withoutEffect: [String] = []
    /// What was changed, as sentences without a full stop.
    private(set) var changes: [String] = []
    /// What was a secret in the file.
    private(set) var secrets: [Secret] = []

    /// The file in which buckets are kept instead.
    private let storagePath: String
    /// What relative paths of the file begin with in the new one.
    private let pathPrefix: String

    /// Converts a file.
    ///
    /// - Parameters:
    ///   - yaml: The text of the file.
    ///   - storagePath: The path of the file in place of a storage that this service does not know.
    ///   - pathPrefix: The way from the folder of the new file to that of the old one: `../`.
    /// - Throws: ``Refused`` when it is not the file of a service that could be run here.
    init(_ yaml: String, storagePath: String, pathPrefix: String) throws {
        self.storagePath = storagePath
        self.pathPrefix = pathPrefix
        guard let node = try? Yams.compose(yaml: yaml), case .mapping = node else {
            throw Refused(description: "the file is not valid YAML, or no mapping")
        }
        tree = YAMLTree(node)
        guard tree["_type"]?.string != "cloud" else {
            throw Refused(
                description: "a file of the hosted service (_type: cloud), which keeps storage and secrets elsewhere"
            )
        }
        try convertConnection()
        convertStorage()
        convertSyncConfig()
        convertAccess()
        tree = convert(tree, ServiceSchema.root, path: "")
    }

    // MARK: Sections

    private mutating func convertConnection() throws {
        guard case .list(let connections)? = tree["replication"]?["connections"], let connection = connections.first
        else {
            throw Refused(description: "replication.connections has no connection")
        }
        guard connections.count == 1 else {
            throw Refused(description: "replication.connections has \(connections.count) connections; one is possible")
        }
        let type = connection["type"]?.string ?? "nothing"
        let known = CommandModules.current.sources.map { $0.type }
        guard known.contains(type) else {
            throw Refused(
                description:
                    "a source of the type \(type) cannot be replicated; there are \(known.joined(separator: ", "))"
            )
        }
    }

    private mutating func convertStorage() {
        let storages = CommandModules.current.storages
        let type = tree["storage"]?["type"]?.string ?? "nothing"
        guard !storages.contains(where: { $0.type == type }), let module = storages.first(where: { $0.starter != nil })
        else { return }
        tree["storage"] = .mapping([.init("type", .plain(module.type)), .init("path", .text(storagePath))])
        changes.append(
            "storage: buckets are kept in a file, of the type \(module.type), not in \(type); they are made anew from the source"
        )
    }

    /// The sync config is a file beside the new one.
    private mutating func convertSyncConfig() {
        let former = tree["sync_config"] ?? tree["sync_rules"]
        tree["sync_rules"] = nil
        var section = YAMLTree.mapping([.init("path", .plain("sync.yaml"))])
        for key in ["exit_on_error", "version_label"] { section[key] = former?[key] }
        tree["sync_config"] = section
    }

    /// Keys that mean the same under another name.
    private mutating func convertAccess() {
        if let token = tree["api"]?["token"] {
            tree["api"]?["token"] = nil
            tree["api"]?["tokens"] = .list([token])
            changes.append("api.token is api.tokens, a list")
        }
        if let level = tree["log_level"] {
            tree["log_level"] = nil
            tree["system"] = .mapping([.init("logging", .mapping([.init("level", level)]))])
            changes.append("log_level is system.logging.level")
        }
        guard var clients = tree["client_auth"] else { return }
        if let more = clients["additional_audiences"] {
            clients["additional_audiences"] = nil
            clients["audience"] = .list((clients["audience"]?.items ?? []) + more.items)
            changes.append("client_auth.additional_audiences are in the list client_auth.audience")
        }
        if clients["issuer"] != nil {
            clients["issuer"] = nil
            changes.append(
                "client_auth.issuer is left out: it is not checked here; tell services apart by client_auth.audience"
            )
        }
        if clients["allow_temporary_tokens"] != nil {
            clients["allow_temporary_tokens"] = nil
            changes.append(
                "client_auth.allow_temporary_tokens is left out: powersync token signs tokens for development"
            )
        }
        if let allowed = clients["allow_local_jwks"] {
            clients["allow_local_jwks"] = nil
            if allowed.string == "false" { clients["block_local_jwks"] = .plain("true") }
            changes.append("client_auth.allow_local_jwks is the opposite of client_auth.block_local_jwks")
        }
        tree["client_auth"] = clients
    }

    // MARK: Keys

    /// Goes through a mapping along what the service reads.
    private mutating func convert(_ tree: YAMLTree, _ schema: SchemaObject, path: String) -> YAMLTree {
        guard case .mapping(let entries) = tree else { return tree }
        var result: [YAMLTree.Entry] = []
        for entry in entries {
            let whole = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            let key = schema.keys.first { $0.name == entry.key }
            switch (EstablishedKey.treatment(of: entry.key, in: path), key?.node) {
            case (.noEffect(let reason, let usual)?, .anything?), (.noEffect(let reason, let usual)?, nil):
                if usual == nil || entry.value.string != usual { withoutEffect.append("\(whole): \(reason)") }
            case (_, let node?):
                let value = convert(entry.value, node, path: whole, key: entry.key)
                // Nothing is left of a mapping that had only keys without effect.
                if value != .mapping([]) || entry.value == value { result.append(.init(entry.key, value)) }
            case (_, nil) where entry.key == "type" && schema.type != nil: result.append(entry)
            case (_, nil) where schema.isOpen: result.append(entry)
            case (.refused(let reason)?, nil): changes.append("\(whole) is left out: \(reason)")
            case (nil, nil): changes.append("\(whole) is left out: no service has such a key")
            }
        }
        return .mapping(result)
    }

    private mutating func convert(_ tree: YAMLTree, _ node: SchemaNode, path: String, key: String) -> YAMLTree {
        switch (node, tree) {
        case (.object(let object), _): return convert(tree, object, path: path)
        case (.variants(let variants), .mapping):
            let variant = variants.first { $0.type == tree["type"]?.string }
            return variant.map { convert(tree, $0, path: path) } ?? tree
        case (.list(let item), .list(let items)), (.oneOrMore(let item), .list(let items)):
            return .list(
                items.enumerated().map { index, each in convert(each, item, path: "\(path)[\(index)]", key: key) }
            )
        default: return value(tree, path: path, key: key)
        }
    }

    // MARK: Values

    private static let secretKeys: Set<String> = ["password", "supabase_jwt_secret", "tokens", "k"]
    private static let fileKeys: Set<String> = [
        "cacert", "client_certificate", "client_private_key", "certificate", "private_key",
    ]

    private mutating func value(_ tree: YAMLTree, path: String, key: String) -> YAMLTree {
        guard let text = tree.string, !text.isEmpty else { return tree }
        if let name = Self.placeholder(text) {
            let variable = name.hasPrefix("PS_") ? name : "PS_\(name)"
            if variable != name { changes.append("\(path): \(variable) has to have what \(name) had") }
            if !secrets.contains(where: { $0.variable == variable }) {
                secrets.append(Secret(variable: variable, value: nil))
            }
            return .variable(variable)
        }
        let isKey = text.contains("PRIVATE KEY")
        if Self.secretKeys.contains(key) || isKey || key == "uri" && Self.hasPassword(text) {
            return .variable(addSecret(text, path: path, key: key))
        }
        let isPath = Self.fileKeys.contains(key) && !text.contains("-----BEGIN") && !text.hasPrefix("/")
        return isPath ? .text(pathPrefix + text) : tree
    }

    private mutating func addSecret(_ value: String, path: String, key: String) -> String {
        let database = path.hasPrefix("storage") ? "PS_STORAGE_" : "PS_DATA_SOURCE_"
        let name =
            switch key {
            case "uri", "password": database + key.uppercased()
            case "tokens": "PS_ADMIN_TOKEN"
            case "k": "PS_JWT_SECRET"
            case "supabase_jwt_secret": "PS_SUPABASE_JWT_SECRET"
            default: database + "PRIVATE_KEY"
            }
        let names = [name] + (2...99).map { "\(name)_\($0)" }
        let variable = names.first { name in !secrets.contains { $0.variable == name } } ?? name
        secrets.append(Secret(variable: variable, value: value))
        return variable
    }

    /// The name in a placeholder that some template fills in: `${NAME}`, `$NAME`, `{{ NAME }}`.
    private static func placeholder(_ text: String) -> String? {
        text.wholeMatch(
            of: /\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Z_][A-Z0-9_]*)|\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/
        )
        .flatMap { $0.1 ?? $0.2 ?? $0.3 }.map { String($0) }
    }

    private static func hasPassword(_ uri: String) -> Bool { uri.contains(/:\/\/[^\/@]*:[^@]*@/) }
}

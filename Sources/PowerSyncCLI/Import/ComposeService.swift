import Yams

/// The service of a compose file that runs the established service, as one that runs this one.
struct ComposeService {
    /// Its name.
    let name: String
    /// The compose file.
    let file: String
    /// The names of its volumes, ports and so on as they are.
    private let tree: YAMLTree
    /// The services whose image is MongoDB's: nothing needs them.
    private let unneeded: Set<String>

    /// Finds the service by its image; `nil` when there is none.
    init?(in file: EstablishedProject.File) {
        guard let node = try? Yams.compose(yaml: file.text) else { return nil }
        let services = YAMLTree(node)["services"]?.entries ?? []
        let found = services.first { $0.value["image"]?.string?.contains("powersync-service") == true }
        guard let found else { return nil }
        (name, self.file, tree) = (found.key, file.path, found.value)
        unneeded = Set(
            services.filter { $0.value["image"]?.string?.split(separator: "/").last?.hasPrefix("mongo") == true }.map(
                \.key
            )
        )
    }

    /// Variables by which the established service finds its configuration; the new one has it in its folder.
    private static let places: Set<String> = [
        "POWERSYNC_CONFIG_PATH", "POWERSYNC_CONFIG_B64", "POWERSYNC_SYNC_RULES_B64", "POWERSYNC_SYNC_CONFIG_B64",
        "NODE_OPTIONS",
    ]

    /// The service to paste in its place.
    ///
    /// - Parameters:
    ///   - folder: The folder with the new configuration, as the compose file finds it.
    ///   - hasSecrets: Whether there is a file of variables in it.
    /// - Returns: YAML, below `services`, and the volume that it needs.
    func replacement(_ folder: String, hasSecrets: Bool) -> String {
        var service = YAMLTree.mapping([
            .init("image", .plain("powersync")),
            .init(
                "command",
                .list(["serve", "--config", "/config/powersync.yaml"].map { .plain($0) })
            ),
        ])
        for key in ["restart", "ports", "networks"] { service[key] = tree[key] }
        let files = tree["env_file"].map { $0.items } ?? []
        let all = files + (hasSecrets ? [.text("\(folder)/powersync.env")] : [])
        if !all.isEmpty { service["env_file"] = .list(all) }
        if let environment = environment { service["environment"] = environment }
        service["volumes"] = .list([.text("\(folder):/config:ro"), .text("powersync-data:/data")])
        if let dependencies { service["depends_on"] = dependencies }
        service["healthcheck"] = .mapping([
            .init(
                "test",
                .list(
                    ["CMD", "/opt/powersync/powersync", "health", "--config", "/config/powersync.yaml"].map {
                        .text($0)
                    }
                )
            ),
            .init("interval", .plain("10s")), .init("start_period", .plain("10m")),
        ])
        service["stop_grace_period"] = .plain("35s")
        let whole = YAMLTree.mapping([
            .init("services", .mapping([.init(name, service)])),
            .init("volumes", .mapping([.init("powersync-data", .plain(""))])),
        ])
        return whole.yaml
    }

    private var environment: YAMLTree? {
        switch tree["environment"] {
        case .mapping(let entries)?:
            let kept = entries.filter { !Self.places.contains($0.key) }
            return kept.isEmpty ? nil : .mapping(kept)
        case .list(let items)?:
            let kept = items.filter { item in
                let name = item.string?.split(separator: "=").first.map { String($0) } ?? ""
                return !Self.places.contains(name)
            }
            return kept.isEmpty ? nil : .list(kept)
        default: return nil
        }
    }

    private var dependencies: YAMLTree? {
        switch tree["depends_on"] {
        case .mapping(let entries)?:
            let kept = entries.filter { !unneeded.contains($0.key) }
            return kept.isEmpty ? nil : .mapping(kept)
        case .list(let items)?:
            let kept = items.filter { !unneeded.contains($0.string ?? "") }
            return kept.isEmpty ? nil : .list(kept)
        default: return nil
        }
    }
}

extension YAMLTree {
    /// The items of a list, or the value alone.
    var items: [YAMLTree] { if case .list(let items) = self { items } else { [self] } }
}

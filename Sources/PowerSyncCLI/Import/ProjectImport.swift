import Foundation
import PowerSyncGenerator
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncTerminal

/// Takes over what lies beside an app of the established service: the files of a service here, and what is worth knowing about them.
struct ProjectImport {
    /// What is taken over.
    let project: EstablishedProject
    /// The service configuration.
    let conversion: ServiceFileConversion
    /// The sync config; `nil` when there is none in the folder.
    private(set) var syncConfig: String?
    /// What became of bucket definitions, as sentences.
    private(set) var definitionNotes: [String] = []
    /// The folder that files are written to, below that of the app.
    let output: String

    /// Converts a project; nothing is written.
    ///
    /// - Parameters:
    ///   - project: What was found.
    ///   - output: The folder for the files, below that of the project.
    /// - Throws: ``ServiceFileConversion/Refused``
    init(_ project: EstablishedProject, output: String = "powersync-swift") throws {
        self.project = project
        self.output = output
        let serviceFolder = project.service.path.split(separator: "/").dropLast().joined(separator: "/")
        conversion = try ServiceFileConversion(
            project.service.text,
            storagePath: project.compose == nil ? "data/buckets.db" : "/data/buckets.db",
            pathPrefix: serviceFolder.isEmpty ? "../" : "../\(serviceFolder)/"
        )
        guard let text = project.syncConfig?.text else { return }
        let isLegacy = SyncConfig.parse(text).firstDefinition != nil
        guard isLegacy else {
            syncConfig = Self.withEditorLine(text)
            return
        }
        let converted = DefinitionConversion(of: text)
        definitionNotes = converted.notes
        if let yaml = converted.yaml {
            syncConfig = Self.withEditorLine(yaml)
            definitionNotes.insert(
                "Bucket definitions were written as streams, which give clients the same rows.",
                at: 0
            )
        } else {
            syncConfig = Self.withEditorLine(text)
            definitionNotes += converted.obstacles.map { "\($0.definition.map { "\($0): " } ?? "")\($0.reason)" }
            definitionNotes.append(
                "Bucket definitions stay as they are\(SyncConfig.parse(text).isUsable ? ", and work" : "")."
            )
        }
    }

    /// The text with the line by which an editor finds the schema, instead of another one.
    private static func withEditorLine(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains("yaml-language-server:") }
        return "\(ProjectFiles.editorLine(.sync))\n" + lines.joined(separator: "\n")
    }

    // MARK: Files

    /// The text of the service configuration.
    var configuration: String {
        """
        \(ProjectFiles.editorLine(.service))
        # Taken over from \(project.service.path) by powersync import. Paths are relative to this file.

        """ + conversion.tree.yaml
    }

    /// The files that are written, with their paths below ``output``.
    var files: [ProjectFiles.File] {
        // A service in a container is another user; secrets are in a file of their own.
        var files = [ProjectFiles.File(name: "powersync.yaml", text: configuration, isPrivate: false)]
        if let syncConfig { files.append(.init(name: "sync.yaml", text: syncConfig, isPrivate: false)) }
        let values = conversion.secrets.filter { $0.value != nil }
        if !values.isEmpty {
            let lines = values.map { "\($0.variable)=\($0.value ?? "")\n" }
            files.append(.init(name: "powersync.env", text: lines.joined()))
        }
        files.append(.init(name: ".gitignore", text: "data/\npowersync.env\n", isPrivate: false))
        return files + ProjectFiles.schemas(arePrivate: false)
    }

    /// Writes all files, or none; only their user reads them.
    ///
    /// - Throws: ``ProjectFiles/AlreadyThere``, or an error of the file system.
    func write() throws {
        try ProjectFiles.write(files, to: URL(filePath: "\(project.folder)/\(output)", directoryHint: .isDirectory))
    }

    /// The path of the service configuration.
    private var file: String { "\(project.folder)/\(output)/powersync.yaml" }

    // MARK: What is worth knowing

    /// The lines for people.
    var lines: [String] {
        var lines = ["Taken over from \(project.service.path):"]
        func block(_ title: String, _ items: [String]) {
            guard !items.isEmpty else { return }
            lines.append("")
            lines.append(title)
            lines += items.map { "  \($0)" }
        }
        lines += files.filter { !$0.name.hasPrefix(".") }.map { "  \(output)/\($0.name)" }
        block("Changed:", conversion.changes)
        block("Without effect here, and left out:", conversion.withoutEffect)
        if let syncConfig = project.syncConfig {
            block("Sync config, from \(syncConfig.path):", definitionNotes.isEmpty ? ["as it is"] : definitionNotes)
        } else {
            block("Sync config:", ["none was found; write \(output)/sync.yaml, or deploy one with api.tokens"])
        }
        let missing = conversion.secrets.filter { $0.value == nil && project.variables[$0.variable] == nil }.map(
            \.variable
        )
        block("Variables of the environment that have to be set:", (missing + undefined).sorted())
        block("Findings:", findings)
        if let compose = project.compose {
            let folder = Self.way(from: compose.file, to: output)
            let hasSecrets = files.contains { $0.name == "powersync.env" }
            let yaml = compose.replacement(folder, hasSecrets: hasSecrets)
            block(
                "In \(compose.file), in place of \(compose.name); the image is made by the Dockerfile of the archive:",
                yaml.split(separator: "\n").map { String($0) }
            )
        }
        return lines
    }

    /// Where a folder below that of the app is for a file there.
    private static func way(from file: String, to folder: String) -> String {
        let up = file.split(separator: "/").count - 1
        return (up == 0 ? "./" : String(repeating: "../", count: up)) + folder
    }

    /// Variables that the configuration had before and no file has.
    private var undefined: [String] {
        Self.variables(of: conversion.tree).map(\.name).filter { name in
            project.variables[name] == nil && !conversion.secrets.contains { $0.variable == name }
        }
    }

    /// The variables of a configuration, each once, with the key that it is for.
    private static func variables(of tree: YAMLTree, key: String = "") -> [(name: String, key: String)] {
        switch tree {
        case .variable(let text):
            return [(String(text.split(separator: ":").first ?? ""), text.hasSuffix("::number") ? "number" : key)]
        case .list(let items): return items.flatMap { variables(of: $0, key: key) }
        case .mapping(let entries): return entries.flatMap { variables(of: $0.value, key: $0.key) }
        case .plain, .text: return []
        }
    }

    /// What the reader of service configurations and the compiler of sync configs say of the new files.
    var findings: [String] {
        var findings: [String] = []
        do {
            let configuration = try ServiceConfiguration(
                yaml: configuration,
                file: file,
                environment: environment
            )
            findings += configuration.warnings
        } catch {
            findings += "\(error)".split(separator: "\n").map { String($0) }
        }
        guard let syncConfig else { return findings }
        var schema: SourceSchema?
        if let path = project.schema {
            do {
                schema = try SourceSchema(contentsOf: "\(project.folder)/\(path)")
                let tables = (schema?.tables.count ?? 0).counted("table")
                findings.append("\(path): \(tables), with which the sync config was checked")
            } catch {
                findings.append("\(path): \(error)")
            }
        }
        let result = SyncConfig.parse(syncConfig, schema: schema)
        findings += result.diagnostics.map { $0.formatted(file: "\(output)/sync.yaml") }
        if let plan = result.plan {
            findings.append("\(output)/sync.yaml: \(plan.streams.count.counted("stream")), ready to deploy")
        }
        return findings
    }

    /// Whether a service can be started with the files, once all variables are set.
    var isUsable: Bool {
        let isRead =
            (try? ServiceConfiguration(yaml: configuration, file: file, environment: environment)) != nil
        return isRead && syncConfig.map { SyncConfig.parse($0).isUsable } ?? true
    }

    /// The variables, with something in place of those that nobody has given: the file is checked, and not the values.
    private var environment: [String: String] {
        var environment: [String: String] = [:]
        let sources = CommandModules.current.sources
        let addresses = ["replication", "storage"].reduce(into: [String: String]()) { addresses, section in
            let part = conversion.tree[section]
            let type = (part?["connections"]?.items.first ?? part)?["type"]?.string
            let scheme = sources.first { $0.type == type }?.argumentForm.schemes.first ?? "https"
            for (name, key) in Self.variables(of: part ?? .plain("")) where key == "uri" {
                addresses[name] = "\(scheme)://user:password@localhost/app"
            }
        }
        for (name, key) in Self.variables(of: conversion.tree) {
            environment[name] =
                switch key {
                case "uri": addresses[name] ?? ""
                case "number", "port", "prometheus_port": "4001"
                case "jwks_uri": "https://id.example.com/keys"
                case "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy"
                case "sslmode": "verify-full"
                case "level": "info"
                case "supabase", "use_http": "true"
                default: "value-of-a-variable-that-is-not-set-yet"
                }
        }
        environment.merge(project.variables) { $1 }
        for secret in conversion.secrets { if let value = secret.value { environment[secret.variable] = value } }
        return environment
    }

    /// The variables that are known, for a connection to the source.
    var knownVariables: [String: String] {
        var variables = project.variables
        for secret in conversion.secrets { if let value = secret.value { variables[secret.variable] = value } }
        return variables
    }
}

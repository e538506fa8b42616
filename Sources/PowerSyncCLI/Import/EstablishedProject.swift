import Foundation
import Yams

/// What lies beside an app of the established service: its configuration, sync config, migrations, compose file and variables.
///
/// Files are found by what is in them; names decide only where several would do.
struct EstablishedProject {
    /// A file.
    struct File {
        /// Its path below the folder.
        var path: String
        var text: String
    }

    /// Why there is nothing to take over.
    struct NotFound: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder.
    let folder: String
    /// The service configuration.
    let service: File
    /// The sync config; `nil` when it is deployed through an API.
    let syncConfig: File?
    /// The folder, or the file, with the statements that make the tables of the app.
    let schema: String?
    /// The service in the compose file.
    let compose: ComposeService?
    /// Variables that files of variables have.
    let variables: [String: String]

    /// Folders in which nothing of an app lies.
    private static let skipped: Set<String> = [
        "node_modules", ".git", ".build", "build", "dist", "Pods", "DerivedData", "powersync-swift", "vendor",
    ]
    /// How deep files are looked for: the folder itself is 0.
    private static let maximumDepth = 5
    /// A larger file is none of these, in bytes.
    private static let maximumBytes = 4 << 20

    /// Looks for the files.
    ///
    /// - Parameters:
    ///   - folder: The folder of the app.
    ///   - named: The service configuration, if several could be meant.
    /// - Throws: ``NotFound``
    init(in folder: String, service named: String? = nil) throws {
        self.folder = folder
        let paths = Self.paths(in: folder)
        guard !paths.isEmpty else { throw NotFound(description: "\(folder) has no files, or cannot be read") }
        let yaml = paths.filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }
        let documents = yaml.compactMap { path in
            Self.text(path, in: folder).map { (file: File(path: path, text: $0), keys: Self.keys(of: $0)) }
        }
        service = try Self.service(among: documents, in: folder, named)
        syncConfig = Self.syncConfig(of: service, among: documents, in: folder)
        schema = Self.schema(among: paths, in: folder)
        compose =
            documents.lazy
            .filter { $0.file.path.contains("compose") && $0.keys.contains("services") }
            .compactMap { ComposeService(in: $0.file) }.first
        variables = paths.filter { Self.isOfVariables($0) }.reduce(into: [:]) { variables, path in
            variables.merge(Self.variables(of: Self.text(path, in: folder) ?? "")) { first, _ in first }
        }
    }

    // MARK: Files

    /// The paths below a folder, those that are less deep first.
    private static func paths(in folder: String) -> [String] {
        var paths: [String] = []
        let enumerator = FileManager.default.enumerator(atPath: folder)
        while let path = enumerator?.nextObject() as? String {
            let parts = path.split(separator: "/")
            if let name = parts.last, skipped.contains(String(name)) || parts.count > maximumDepth {
                enumerator?.skipDescendants()
            } else {
                paths.append(path)
            }
        }
        func depth(_ path: String) -> Int { path.count { $0 == "/" } }
        return paths.sorted { (depth($0), $0) < (depth($1), $1) }
    }

    private static func text(_ path: String, in folder: String) -> String? {
        let whole = "\(folder)/\(path)"
        let size = (try? FileManager.default.attributesOfItem(atPath: whole))?[.size] as? Int
        guard let size, size <= maximumBytes else { return nil }
        return try? String(contentsOfFile: whole, encoding: .utf8)
    }

    /// The keys of a YAML file; none of one that is no mapping.
    private static func keys(of yaml: String) -> Set<String> {
        guard let node = try? Yams.compose(yaml: yaml), case .mapping(let mapping) = node else { return [] }
        return Set(mapping.compactMap { $0.key.scalar?.string })
    }

    private static func service(
        among documents: [(file: File, keys: Set<String>)],
        in folder: String,
        _ named: String?
    ) throws -> File {
        if let named {
            guard let text = text(named, in: folder) else {
                throw NotFound(description: "\(folder)/\(named) cannot be read")
            }
            return File(path: named, text: text)
        }
        let found = documents.filter { $0.keys.contains("replication") }.map(\.file)
        guard let first = found.first else {
            throw NotFound(
                description: "\(folder) has no service configuration: no YAML file there has the key replication"
            )
        }
        guard found.count == 1 else {
            let paths = found.map(\.path).joined(separator: ", ")
            throw NotFound(description: "\(folder) has several service configurations: \(paths). Name one with --file")
        }
        return first
    }

    /// The sync config that a service configuration names, wherever it lies: in a container the paths are others.
    private static func syncConfig(
        of service: File,
        among documents: [(file: File, keys: Set<String>)],
        in folder: String
    ) -> File? {
        let tree = (try? Yams.compose(yaml: service.text)).flatMap { $0 }.map { YAMLTree($0) }
        let section = tree?["sync_config"] ?? tree?["sync_rules"]
        if let text = section?["content"]?.string { return File(path: service.path, text: text) }
        let candidates = documents.filter { document in
            !document.keys.isDisjoint(with: ["streams", "bucket_definitions"])
        }.map(\.file)
        let name = section?["path"]?.string?.split(separator: "/").last.map { String($0) }
        return candidates.first { $0.path.split(separator: "/").last.map { String($0) } == name } ?? candidates.first
    }

    // MARK: Tables

    /// What tools name their folders of migrations, the likeliest first.
    private static let schemaNames = [
        "migrations", "drizzle", "schema", "sql", "db", "database", "init", "init-scripts",
    ]

    /// The folder with migrations, or the one file that makes tables.
    private static func schema(among paths: [String], in folder: String) -> String? {
        let files = paths.filter { path in
            path.lowercased().hasSuffix(".sql") && text(path, in: folder)?.uppercased().contains("CREATE TABLE") == true
        }
        let folders = files.flatMap { path -> [String] in
            let parts = path.split(separator: "/").dropLast()
            return parts.indices.map { parts[...$0].joined(separator: "/") }
        }
        for name in schemaNames {
            if let found = folders.first(where: { $0.split(separator: "/").last?.lowercased() == name }) {
                return found
            }
        }
        return files.count > 1 ? folders.first : files.first
    }

    // MARK: Variables

    private static func isOfVariables(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name == ".env" || name.hasPrefix(".env.") || name.hasSuffix(".env")
    }

    /// The lines `NAME=value` of a file.
    private static func variables(of text: String) -> [String: String] {
        var variables: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let match = line.wholeMatch(of: /\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*/) else {
                continue
            }
            var value = match.2
            for quote in ["\"", "'"] where value.count > 1 && value.hasPrefix(quote) && value.hasSuffix(quote) {
                value = value.dropFirst().dropLast()
            }
            variables[String(match.1)] = String(value)
        }
        return variables
    }
}

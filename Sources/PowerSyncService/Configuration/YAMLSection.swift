import Yams

/// Reads the keys of one mapping of a configuration file.
///
/// Every key is read by name; ``finish(_:)`` then reports the ones that nobody asked for. Errors name the file, the line
/// and the whole path of the key. A scalar tagged `!env PS_NAME`, `!env PS_NAME::number` or `!env PS_NAME::boolean` is
/// replaced by an environment variable.
struct YAMLSection {
    /// What stays the same for all sections of a file.
    struct Document {
        var file: String
        var environment: [String: String]
    }

    let document: Document
    let path: String
    private let mapping: Node.Mapping
    private let line: Int?
    private var knownKeys: Set<String> = []

    /// The root of a file.
    init(yaml: String, document: Document) throws(ServiceError) {
        let root: Node?
        do {
            root = try Yams.compose(yaml: yaml)
        } catch let error as YamlError {
            throw ServiceError(
                .invalidConfiguration,
                "not valid YAML: \(error.summary)",
                file: document.file,
                line: error.line,
                underlyingError: nil
            )
        } catch {
            throw ServiceError(.invalidConfiguration, "not valid YAML", file: document.file)
        }
        guard let root else {
            throw ServiceError(.invalidConfiguration, "the file is empty", file: document.file)
        }
        try self.init(root, path: "", document: document)
    }

    private init(_ node: Node, path: String, document: Document) throws(ServiceError) {
        self.document = document
        self.path = path
        line = node.mark?.line
        guard case .mapping(let mapping) = node else {
            throw ServiceError(
                .invalidConfiguration,
                "expected a mapping of keys to values",
                file: document.file,
                line: line,
                key: path.isEmpty ? nil : path
            )
        }
        self.mapping = mapping
    }

    // MARK: Keys

    private mutating func node(_ key: String) -> Node? {
        knownKeys.insert(key)
        guard let node = mapping.first(where: { $0.key.scalar?.string == key })?.value else { return nil }
        // `key:` without a value is the same as no key.
        if case .scalar(let scalar) = node, scalar.style == .plain, ["", "~", "null"].contains(scalar.string),
            scalar.tag.description != "!env"
        {
            return nil
        }
        return node
    }

    private func fullPath(_ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    /// An error at a key of this section.
    func error(_ key: String?, _ message: String, code: ServiceError.Code = .invalidConfiguration) -> ServiceError {
        let entry = key.flatMap { name in mapping.first { $0.key.scalar?.string == name } }
        let keyPath = key.map(fullPath) ?? path
        return ServiceError(
            code,
            message,
            file: document.file,
            line: entry?.key.mark?.line ?? line,
            key: keyPath.isEmpty ? nil : keyPath
        )
    }

    /// Whether the mapping has a key.
    mutating func contains(_ key: String) -> Bool {
        node(key) != nil
    }

    /// Marks keys as known whose values do not matter.
    mutating func ignore(_ keys: String...) {
        knownKeys.formUnion(keys)
    }

    /// Reports the keys that were not read.
    func finish(_ warnings: inout [String]) {
        for entry in mapping {
            let key = entry.key.scalar?.string ?? "?"
            guard !knownKeys.contains(key) else { continue }
            let line = entry.key.mark.map { ":\($0.line)" } ?? ""
            warnings.append("\(document.file)\(line): \(fullPath(key)): unknown key, ignored")
        }
    }

    /// Refuses keys that were not read.
    func finish() throws(ServiceError) {
        let unknown = mapping.compactMap { $0.key.scalar?.string }.first { !knownKeys.contains($0) }
        if let unknown { throw error(unknown, "unknown key") }
    }

    // MARK: Values

    /// A text.
    mutating func string(_ key: String) throws(ServiceError) -> String? {
        guard let node = node(key) else { return nil }
        return try scalar(node, key)
    }

    /// A whole number.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(ServiceError) -> Int? {
        guard let text = try string(key) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            let bounds =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
            throw error(key, "\"\(text)\" is not a whole number \(bounds)")
        }
        return value
    }

    /// `true` or `false`.
    mutating func boolean(_ key: String) throws(ServiceError) -> Bool? {
        guard let text = try string(key) else { return nil }
        switch text.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default: throw error(key, "\"\(text)\" is not true or false")
        }
    }

    /// A list of texts, or one text.
    mutating func strings(_ key: String) throws(ServiceError) -> [String]? {
        guard let node = node(key) else { return nil }
        guard case .sequence(let items) = node else { return [try scalar(node, key)] }
        var result: [String] = []
        for (index, item) in items.enumerated() {
            result.append(try scalar(item, "\(key)[\(index)]"))
        }
        return result
    }

    /// A mapping.
    mutating func section(_ key: String) throws(ServiceError) -> YAMLSection? {
        guard let node = node(key) else { return nil }
        return try YAMLSection(node, path: fullPath(key), document: document)
    }

    /// A list of mappings.
    mutating func sections(_ key: String) throws(ServiceError) -> [YAMLSection]? {
        guard let node = node(key) else { return nil }
        guard case .sequence(let items) = node else { throw error(key, "expected a list") }
        var result: [YAMLSection] = []
        for (index, item) in items.enumerated() {
            result.append(try YAMLSection(item, path: "\(fullPath(key))[\(index)]", document: document))
        }
        return result
    }

    private func scalar(_ node: Node, _ key: String) throws(ServiceError) -> String {
        func fail(_ message: String) -> ServiceError {
            ServiceError(
                .invalidConfiguration,
                message,
                file: document.file,
                line: node.mark?.line,
                key: fullPath(key)
            )
        }
        guard case .scalar(let scalar) = node else { throw fail("expected a single value") }
        guard scalar.tag.description == "!env" else { return scalar.string }
        let (name, type) = scalar.string.splitOnce(separator: "::")
        guard name.hasPrefix("PS_") else {
            throw fail("!env \(name): names of environment variables must begin with PS_")
        }
        guard let value = document.environment[name] else {
            throw fail("the environment variable \(name) is not set")
        }
        switch type {
        case nil, "string": break
        case "number":
            guard Double(value) != nil else { throw fail("the environment variable \(name) is not a number") }
        case "boolean":
            guard ["true", "false", "1", "0"].contains(value.lowercased()) else {
                throw fail("the environment variable \(name) is not true or false")
            }
            return ["true", "1"].contains(value.lowercased()) ? "true" : "false"
        case .some(let other): throw fail("!env \(name)::\(other): the type is not string, number or boolean")
        }
        return value
    }
}

extension String {
    /// The text before and after the first separator; the latter is `nil` when there is none.
    fileprivate func splitOnce(separator: String) -> (String, String?) {
        guard let range = firstRange(of: separator) else { return (self, nil) }
        return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
    }
}

extension YamlError {
    /// What is wrong, without the text of the file: it may hold secrets.
    fileprivate var summary: String {
        switch self {
        case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _),
            .reader(let problem, _, _, _), .writer(let problem), .emitter(let problem), .representer(let problem):
            problem
        case .duplicatedKeysInMapping(let duplicates, _): "\(duplicates.joined(separator: ", ")) is there twice"
        case .dataCouldNotBeDecoded: "the file is not UTF-8"
        case .no, .memory: "out of memory"
        }
    }

    /// The line of the problem, counted from 1.
    fileprivate var line: Int? {
        switch self {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _): mark.line
        case .duplicatedKeysInMapping(_, let context): context.mark.line
        default: nil
        }
    }
}

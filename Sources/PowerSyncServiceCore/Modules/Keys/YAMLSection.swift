import Foundation
package import PowerSyncProtocol
import PowerSyncSyncConfig
import Yams

/// Reads the keys of one mapping of a configuration file.
///
/// Every key is read by name; ``finish()`` then reports the ones that were not read. What is wrong is collected in the findings of
/// the document, with the line and the whole path of the key, and the reader gets `nil`, so that one run says all of it. A scalar
/// tagged `!env PS_NAME`, `!env PS_NAME::number` or `!env PS_NAME::boolean` is replaced by an environment variable.
package struct YAMLSection {
    /// What stays the same for all sections of a file.
    package struct Document {
        /// The name of the file, or of the variable that has the text.
        package var file: String
        /// Where `!env` finds values.
        package var environment: [String: String]
        /// What is wrong with the file.
        package let findings = ConfigurationFindings()

        /// Creates a document without findings.
        package init(file: String, environment: [String: String]) {
            self.file = file
            self.environment = environment
        }

        /// A path of the file: a relative one starts at its folder.
        package func absolutePath(_ path: String) -> String {
            URL(filePath: path, relativeTo: URL(filePath: file).deletingLastPathComponent()).standardizedFileURL.path(
                percentEncoded: false
            )
        }
    }

    /// The file.
    package let document: Document
    /// The path of the mapping, such as `replication.connections[0]`; empty at the top.
    package let path: String
    private let mapping: Node.Mapping
    private let line: Int?
    private var knownKeys: Set<String> = []

    /// The root of a file.
    ///
    /// - Throws: ``ServiceError`` when there is nothing that could be read.
    package init(yaml: String, document: Document) throws(ServiceError) {
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
        guard let section = YAMLSection(root, path: "", document: document) else {
            throw ServiceError(
                .invalidConfiguration,
                "expected a mapping of keys to values",
                file: document.file,
                line: root.mark?.line
            )
        }
        self = section
    }

    private init?(_ node: Node, path: String, document: Document) {
        guard case .mapping(let mapping) = node else { return nil }
        self.document = document
        self.path = path
        self.mapping = mapping
        line = node.mark?.line
    }

    // MARK: Keys

    private mutating func node(_ key: String) -> Node? {
        knownKeys.insert(key)
        guard let node = mapping.first(where: { $0.key.scalar?.string == key })?.value else { return nil }
        // `key:` without a value is the same as no key.
        return node.isMissing ? nil : node
    }

    private func fullPath(_ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    /// An error at a key of this section.
    private func error(
        _ key: String?,
        _ message: String,
        _ code: ServiceError.Code = .invalidConfiguration,
        catalogueCode: ErrorCode? = nil
    ) -> ServiceError {
        let entry = key.flatMap { name in mapping.first { $0.key.scalar?.string == name } }
        let keyPath = key.map(fullPath) ?? path
        return ServiceError(
            code,
            message,
            file: document.file,
            line: entry?.key.mark?.line ?? line,
            key: keyPath.isEmpty ? nil : keyPath,
            catalogueCode: catalogueCode
        )
    }

    /// Reports what keeps the file from being used.
    ///
    /// - Parameters:
    ///   - key: A key of this section; `nil` for the section itself.
    ///   - message: What is wrong, and what to write.
    ///   - code: The kind of error.
    ///   - catalogueCode: The code of the error catalogue.
    package func fail(
        _ key: String?,
        _ message: String,
        code: ServiceError.Code = .invalidConfiguration,
        catalogueCode: ErrorCode? = nil
    ) {
        document.findings.fail(error(key, message, code, catalogueCode: catalogueCode))
    }

    /// Reports what has no effect, or is not safe.
    package func warn(_ key: String?, _ message: String) {
        document.findings.warn(error(key, message).description)
    }

    /// Reports what has no effect, or is not safe, without a line.
    package func note(_ message: String) {
        document.findings.warn("\(document.file): \(message)")
    }

    /// Whether the mapping has a key with a value.
    package mutating func contains(_ key: String) -> Bool {
        node(key) != nil
    }

    /// Reports the keys that were not read: those of the established service as the table says, others as errors.
    ///
    /// - Parameter isOpen: Whether the format says that unknown keys are ignored: then they are warnings.
    package func finish(isOpen: Bool = false) {
        for entry in mapping {
            guard let key = entry.key.scalar?.string else {
                fail(nil, "a key is not a single value; write name: value")
                continue
            }
            guard !knownKeys.contains(key) else { continue }
            switch EstablishedKey.treatment(of: key, in: path) {
            case .noEffect(_, let usual?) where entry.value.scalar?.string == usual: break
            case .noEffect(let reason, _): warn(key, "no effect here: \(reason)")
            case .refused(let instead): fail(key, instead)
            case nil:
                let meant = NearName.hint(for: key, among: knownKeys.sorted())
                if isOpen {
                    warn(key, "unknown key, ignored.\(meant.map { " \($0)" } ?? "")")
                } else {
                    fail(key, "unknown key. \(meant ?? "Leave it out.")")
                }
            }
        }
    }

    // MARK: Values

    /// A text.
    package mutating func string(_ key: String) -> String? {
        node(key).flatMap { value($0, key)?.text }
    }

    /// A text that names something, or grants something: never null, empty, or what a template leaves.
    ///
    /// Line breaks at its end do not count: editors and secret stores add them.
    package mutating func string(_ key: String, as rule: TextRule) -> String? {
        guard let node = node(key) else {
            if mapping.contains(where: { $0.key.scalar?.string == key }) {
                fail(key, "is null; give it a value, or leave the key out")
            }
            return nil
        }
        guard let value = value(node, key) else { return nil }
        let text = value.text.withoutLineEnd
        if let problem = rule.problem(with: text) {
            fail(key, "\(value.variable.map { "the environment variable \($0) " } ?? "")\(problem)")
            return nil
        }
        return text
    }

    /// A whole number.
    package mutating func integer(_ key: String, in range: ClosedRange<Int>, _ code: ErrorCode? = nil) -> Int? {
        guard let node = node(key), let value = value(node, key) else { return nil }
        guard let number = Int(value.text.withoutLineEnd), range.contains(number) else {
            let bounds =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
            fail(key, "\(value.shown) is not a whole number \(bounds)", catalogueCode: code)
            return nil
        }
        return number
    }

    /// `true` or `false`.
    package mutating func boolean(_ key: String) -> Bool? {
        guard let node = node(key), let value = value(node, key) else { return nil }
        switch value.text.withoutLineEnd.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default:
            fail(key, "\(value.shown) is not true or false")
            return nil
        }
    }

    /// A list of texts, or one text; entries are never null.
    package mutating func strings(_ key: String) -> [String]? {
        guard let node = node(key) else { return nil }
        guard case .sequence(let items) = node else { return value(node, key).map { [$0.text] } }
        return items.enumerated().compactMap { index, item in
            guard !item.isMissing else {
                fail(key, "entry \(index + 1) is null; give it a value, or leave it out")
                return nil
            }
            return value(item, "\(key)[\(index)]")?.text
        }
    }

    /// A list of texts as ``string(_:as:)``, or one text.
    package mutating func strings(_ key: String, as rule: TextRule) -> [String]? {
        guard let node = node(key), case .sequence(let items) = node else { return string(key, as: rule).map { [$0] } }
        var result: [String] = []
        for (index, item) in items.enumerated() {
            let value = item.isMissing ? nil : value(item, "\(key)[\(index)]")
            if !item.isMissing, value == nil { continue }
            let text = value?.text.withoutLineEnd
            if let problem = text.map({ rule.problem(with: $0) }) ?? "is null; give it a value, or leave it out" {
                fail(
                    key,
                    "entry \(index + 1)\(value?.variable.map { ", the environment variable \($0)," } ?? "") \(problem)"
                )
            } else if let text {
                result.append(text)
            }
        }
        return result
    }

    /// A mapping.
    package mutating func section(_ key: String) -> YAMLSection? {
        guard let node = node(key) else { return nil }
        let section = YAMLSection(node, path: fullPath(key), document: document)
        if section == nil { fail(key, "expected a mapping of keys to values") }
        return section
    }

    /// A list of mappings.
    package mutating func sections(_ key: String) -> [YAMLSection]? {
        guard let node = node(key) else { return nil }
        guard case .sequence(let items) = node else {
            fail(key, "expected a list")
            return nil
        }
        return items.enumerated().compactMap { index, item in
            let section = YAMLSection(item, path: "\(fullPath(key))[\(index)]", document: document)
            if section == nil { fail(key, "entry \(index + 1): expected a mapping of keys to values") }
            return section
        }
    }

    /// The path of a file; what is missing is in the findings.
    package mutating func requiredPath(_ key: String) -> String? {
        let path = string(key, as: .name)
        // What is there and wrong has been said.
        if path == nil { fail(key, "missing; give a file") }
        return path.map(document.absolutePath)
    }

    /// The kind of file, if another program reads it, too.
    package var hostedServiceFile: HostedServiceFile? { HostedServiceFile(mapping) }

    /// A value, and where it is from.
    private struct Value {
        var text: String
        /// The variable of the environment that has it.
        var variable: String?

        /// The value in a message: that of a variable may be a secret.
        var shown: String { variable.map { "the environment variable \($0)" } ?? "\"\(text)\"" }
    }

    private func value(_ node: Node, _ key: String) -> Value? {
        func fail(_ message: String) -> Value? {
            document.findings.fail(
                ServiceError(
                    .invalidConfiguration,
                    message,
                    file: document.file,
                    line: node.mark?.line,
                    key: fullPath(key)
                )
            )
            return nil
        }
        guard case .scalar(let scalar) = node else { return fail("expected a single value") }
        guard scalar.tag.description == "!env" else { return Value(text: scalar.string) }
        let (name, type) = scalar.string.splitOnce(separator: "::")
        guard name.hasPrefix("PS_") else {
            return fail("!env \(name): names of environment variables must begin with PS_")
        }
        guard let found = document.environment[name] else {
            return fail("the environment variable \(name) is not set")
        }
        // Files, heredocs and secret stores end with one.
        let text = found.withoutLineEnd
        switch type {
        case nil, "string": break
        case "number":
            guard Double(text) != nil else { return fail("the environment variable \(name) is not a number") }
        case "boolean":
            guard ["true", "false", "1", "0"].contains(text.lowercased()) else {
                return fail("the environment variable \(name) is not true or false")
            }
            return Value(text: ["true", "1"].contains(text.lowercased()) ? "true" : "false", variable: name)
        case .some(let other): return fail("!env \(name)::\(other): the type is not string, number or boolean")
        }
        return Value(text: text, variable: name)
    }
}

extension Node {
    /// Whether there is no value: nothing, `~` or `null`.
    fileprivate var isMissing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain, scalar.tag.description != "!env" else {
            return false
        }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }
}

extension String {
    /// The text before and after the first separator; the latter is `nil` when there is none.
    fileprivate func splitOnce(separator: String) -> (String, String?) {
        guard let range = firstRange(of: separator) else { return (self, nil) }
        return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
    }

    /// The text without line breaks at its end.
    package var withoutLineEnd: String {
        var text = self[...]
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
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

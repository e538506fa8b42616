import Yams

/// YAML as far as service configurations have it, to be changed and written again.
indirect enum YAMLTree: Equatable {
    /// A scalar that stood without quotes: a number, a boolean, null, or a text.
    case plain(String)
    /// A text.
    case text(String)
    /// The value of a variable of the environment: `!env PS_NAME::number`.
    case variable(String)
    /// A list.
    case list([YAMLTree])
    /// A mapping, in its order.
    case mapping([Entry])

    /// An entry of a mapping.
    struct Entry: Equatable {
        var key: String
        var value: YAMLTree

        /// Creates an entry.
        init(_ key: String, _ value: YAMLTree) {
            (self.key, self.value) = (key, value)
        }
    }

    /// Reads a node; what is no scalar as a key is left out.
    init(_ node: Node) {
        switch node {
        case .mapping(let mapping):
            self = .mapping(
                mapping.compactMap { key, value in key.scalar.map { Entry($0.string, YAMLTree(value)) } }
            )
        case .sequence(let sequence): self = .list(sequence.map { YAMLTree($0) })
        case .scalar(let scalar) where scalar.tag.description == "!env": self = .variable(scalar.string)
        case .scalar(let scalar) where scalar.style == .plain || scalar.style == .any: self = .plain(scalar.string)
        case .scalar(let scalar): self = .text(scalar.string)
        case .alias: self = .plain("")
        }
    }

    // MARK: Access

    /// The entries of a mapping; none of others.
    var entries: [Entry] { if case .mapping(let entries) = self { entries } else { [] } }

    /// The text of a scalar that is no variable.
    var string: String? {
        switch self {
        case .plain(let text), .text(let text): text
        default: nil
        }
    }

    /// The value of a key of a mapping; `nil` removes it.
    subscript(key: String) -> YAMLTree? {
        get { entries.first { $0.key == key }?.value }
        set {
            var entries = entries
            let index = entries.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): entries[index].value = value
            case (let index?, nil): entries.remove(at: index)
            case (nil, let value?): entries.append(Entry(key, value))
            case (nil, nil): return
            }
            self = .mapping(entries)
        }
    }

    // MARK: Writing

    /// The tree as YAML in block style, with a line break at the end.
    var yaml: String { lines.map { $0 + "\n" }.joined() }

    private var lines: [String] {
        switch self {
        case .mapping(let entries) where !entries.isEmpty:
            return entries.flatMap { entry -> [String] in
                let key = Self.scalar(entry.key)
                switch entry.value {
                case .mapping(let inner) where !inner.isEmpty:
                    return ["\(key):"] + entry.value.lines.map { "  \($0)" }
                case .list(let items) where !items.isEmpty:
                    return ["\(key):"] + entry.value.lines.map { "  \($0)" }
                case .plain(""): return ["\(key):"]
                default: return ["\(key): \(entry.value.line)"]
                }
            }
        case .list(let items) where !items.isEmpty:
            return items.flatMap { item -> [String] in
                let lines = item.lines
                return ["- \(lines.first ?? "")"] + lines.dropFirst().map { "  \($0)" }
            }
        default: return [line]
        }
    }

    private var line: String {
        switch self {
        case .plain(let text): text
        case .text(let text): Self.quoted(text)
        case .variable(let name): "!env \(name)"
        case .list: "[]"
        case .mapping: "{}"
        }
    }

    private static func scalar(_ key: String) -> String {
        let isPlain = key.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || $0 == "_" || $0 == "-")
        }
        return isPlain && !key.isEmpty ? key : quoted(key)
    }

    /// A text in double quotes, in one line.
    private static func quoted(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return "\"\(result)\""
    }
}

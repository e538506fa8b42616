package import PowerSyncProtocol

extension ConfigNode {
    /// The node as JSON: integers keep their digits, `.nan` and `.inf` are numbers; `nil` when it is nested too deep.
    func json(depth: Int = 0) -> JSONNode? {
        guard depth < JSONNode.maximumDepth else { return nil }
        if let elements {
            var nodes: [JSONNode] = []
            for element in elements {
                guard let node = element.json(depth: depth + 1) else { return nil }
                nodes.append(node)
            }
            return .array(nodes)
        }
        if let entries = entries(rejecting: { _ in }) {
            var members: [JSONNode.Member] = []
            for entry in entries {
                guard let node = entry.value.json(depth: depth + 1) else { return nil }
                members.append(JSONNode.Member(name: entry.key, value: node))
            }
            return .object(JSONNode.unique(members))
        }
        return scalarJSON
    }
}

extension JSONNode {
    /// A JSON or YAML text as a tree.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - problem: What to say when there is nothing in it.
    /// - Returns: The tree, or findings that say why there is none.
    static func read(_ text: String, whenEmpty problem: String) -> (node: JSONNode?, findings: [ConfigDiagnostic]) {
        // JSON is read as such: YAML has other limits and fewer escapes.
        if text.utf8.first(where: { $0 != 0x20 && !(0x09...0x0d).contains($0) }) == UInt8(ascii: "{"),
            let node = JSONNode(parsing: text)
        {
            return (node, [])
        }
        var reader = ConfigReader(source: SourceText(text))
        guard let root = reader.parse(text, whenEmpty: problem) else { return (nil, reader.diagnostics.sorted) }
        guard let node = root.json() else {
            reader.diagnostics.report(.yamlSyntax, "Maps and lists are nested too deep.", at: root.range)
            return (nil, reader.diagnostics.sorted)
        }
        return (node, [])
    }
}

extension ExactJSON {
    /// The value as requests bring it: integers within 64 bits, other numbers as doubles, what exceeds those as null.
    init(_ node: JSONNode) {
        switch node {
        case .null: self = .null
        case .bool(let isTrue): self = .bool(isTrue)
        case .integer("-0"): self = .double(-0.0)
        case .integer(let digits): self = Int64(digits).map(ExactJSON.integer) ?? ExactJSON(number: Double(digits))
        case .real(let number): self = ExactJSON(number: number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map(ExactJSON.init))
        case .object(let members):
            self = .object(
                JSONObject(members: members.map { JSONObject.Member(name: $0.name, value: ExactJSON($0.value)) })
            )
        }
    }

    private init(number: Double?) {
        self = number.flatMap { $0.isFinite ? .double($0) : nil } ?? .null
    }
}

extension ExactJSON {
    /// A value that a user types: JSON where it is JSON, otherwise the text itself.
    package init(typed text: String) {
        self = JSONNode(parsing: text).map { ExactJSON($0) } ?? .string(text)
    }
}

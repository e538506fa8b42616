import Yams

/// A node of the YAML document with its place in the file.
struct ConfigNode {
    /// One entry of a map.
    struct Entry {
        /// The text of the key.
        var key: String
        /// The place of the key.
        var keyRange: Range<Int>
        /// The value.
        var value: ConfigNode
    }

    private let node: Node
    private let source: SourceText
    /// The place of the node: of a scalar as a whole, of the first byte of other nodes.
    let range: Range<Int>
    /// Where the text of a scalar comes from.
    let scalarSource: ScalarSource?

    /// Wraps a node.
    init(_ node: Node, in source: SourceText) {
        self.node = node
        self.source = source
        let start = node.mark.map { source.offset(line: $0.line, column: $0.column) } ?? 0
        if let scalar = node.scalar {
            let style: ScalarSource.Style =
                switch scalar.style {
                case .any, .plain: .plain
                case .singleQuoted: .singleQuoted
                case .doubleQuoted: .doubleQuoted
                case .literal, .folded: .block
                }
            let scalarSource = ScalarSource(text: scalar.string, style: style, start: start, in: source)
            self.scalarSource = scalarSource
            range = scalarSource.range
        } else {
            scalarSource = nil
            range = start..<min(start + 1, source.bytes.count)
        }
    }

    /// The entries of a map, with scalar keys; `nil` for other nodes.
    ///
    /// Keys that are not scalars are passed to `reject`.
    func entries(rejecting reject: (Range<Int>) -> Void) -> [Entry]? {
        guard let mapping = node.mapping else { return nil }
        var entries: [Entry] = []
        for (key, value) in mapping {
            let keyNode = ConfigNode(key, in: source)
            if let name = key.scalar?.string {
                entries.append(Entry(key: name, keyRange: keyNode.range, value: ConfigNode(value, in: source)))
            } else {
                reject(keyNode.range)
            }
        }
        return entries
    }

    /// The elements of a sequence; `nil` for other nodes.
    var elements: [ConfigNode]? {
        node.sequence?.map { ConfigNode($0, in: source) }
    }

    /// The text of a scalar that is not null.
    var string: String? {
        guard let scalar = node.scalar, !isNull else { return nil }
        return scalar.string
    }

    /// The value of `true` or `false` without quotes.
    var bool: Bool? {
        switch plainText {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }

    /// The value of a decimal integer without quotes.
    var integer: Int? {
        guard let text = plainText, text.utf8.allSatisfy({ $0 != UInt8(ascii: "_") }) else { return nil }
        return Int(text)
    }

    /// Whether the node is `null`, `~` or nothing.
    var isNull: Bool {
        switch plainText {
        case "", "~", "null", "Null", "NULL": true
        default: false
        }
    }

    /// Whether the node has the tag that old files use instead of the option of the same name.
    var hasDangerousQueriesTag: Bool {
        let tag =
            switch node {
            case .scalar(let scalar): scalar.tag
            case .mapping(let mapping): mapping.tag
            case .sequence(let sequence): sequence.tag
            case .alias(let alias): alias.tag
            }
        return tag.rawValue.contains("accept_potentially_dangerous_queries")
    }

    private var plainText: String? {
        guard let scalar = node.scalar, scalar.style == .plain || scalar.style == .any else { return nil }
        return scalar.string
    }
}

import Yams

/// A node of the YAML document with its place in the file.
struct ConfigNode {
    /// One entry of a map.
    struct Entry {
        /// The text of the key.
        var key: String
        /// The place of the key.
        var keyRange: Range<Int>
        /// Whether YAML reads the key as a number, a boolean or null.
        var isKeyNonText: Bool
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
                entries.append(
                    Entry(
                        key: name,
                        keyRange: keyNode.range,
                        isKeyNonText: keyNode.isPlainNonText,
                        value: ConfigNode(value, in: source)
                    )
                )
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

    /// The value of an integer without quotes, in any form of YAML's core schema: `3`, `3.0`, `0x3`, `0o3`, `3e0`, `03`.
    var integer: Int? {
        guard let text = plainText, Self.isNumber(text) else { return nil }
        if text.hasPrefix("0x") { return Int(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return Int(text.dropFirst(2), radix: 8) }
        return Int(text) ?? Double(text).flatMap(Int.init(exactly:))
    }

    /// The scalar as JSON, by YAML's core schema.
    var scalarJSON: JSONNode {
        guard let text = plainText else { return .string(string ?? "") }
        if isNull { return .null }
        if let bool { return .bool(bool) }
        switch text {
        case ".nan", ".NaN", ".NAN": return .real(.nan)
        case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF": return .real(.infinity)
        case "-.inf", "-.Inf", "-.INF": return .real(-.infinity)
        default: break
        }
        guard Self.isNumber(text) else { return .string(text) }
        if text.hasPrefix("0x") || text.hasPrefix("0o") {
            let digits = text.dropFirst(2)
            let value = UInt64(digits, radix: text.hasPrefix("0x") ? 16 : 8)
            return value.map { .integer(String($0)) } ?? .string(text)
        }
        let isInteger = text.utf8.allSatisfy { ![".", "e", "E"].contains(UnicodeScalar($0)) }
        guard isInteger else { return .real(Double(text) ?? 0) }
        let digits = text.drop { $0 == "+" || $0 == "-" }.drop { $0 == "0" }
        return .integer((text.hasPrefix("-") ? "-" : "") + (digits.isEmpty ? "0" : digits))
    }

    /// Whether the node is a scalar that YAML reads as something else than a text.
    var isPlainNonText: Bool {
        guard let text = plainText else { return false }
        return isNull || bool != nil || Self.isNumber(text)
    }

    /// Whether a plain scalar is a number of YAML's core schema.
    private static func isNumber(_ text: String) -> Bool {
        let digits = text.utf8
        if text.hasPrefix("0x") {
            return digits.count > 2
                && digits.dropFirst(2).allSatisfy { UInt8(String(UnicodeScalar($0)), radix: 16) != nil }
        }
        if text.hasPrefix("0o") {
            return digits.count > 2
                && digits.dropFirst(2).allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
        }
        let isDecimal = digits.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || [".", "-", "+", "e", "E"].contains(UnicodeScalar(byte))
        }
        return isDecimal && Double(text) != nil
    }

    /// Whether the document has more nodes than a limit, or longer texts, with aliases counted wherever they are used.
    ///
    /// - Parameters:
    ///   - limit: The most nodes.
    ///   - textLimit: The most bytes of all scalars together.
    /// - Returns: Whether there are more.
    /// - Complexity: O(limit).
    func exceeds(nodes limit: Int, textBytes textLimit: Int) -> Bool {
        var stack = [node]
        var count = 0
        var textBytes = 0
        while let next = stack.popLast() {
            count += 1
            guard count + stack.count <= limit else { return true }
            switch next {
            case .mapping(let mapping):
                guard count + stack.count + 2 * mapping.count <= limit else { return true }
                for (key, value) in mapping {
                    stack.append(key)
                    stack.append(value)
                }
            case .sequence(let sequence):
                guard count + stack.count + sequence.count <= limit else { return true }
                stack += sequence
            case .scalar(let scalar):
                textBytes += scalar.string.utf8.count
                guard textBytes <= textLimit else { return true }
            case .alias:
                break
            }
        }
        return false
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

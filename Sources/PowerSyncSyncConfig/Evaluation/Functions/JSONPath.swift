/// The right side of `->` and `->>`: a member name, or a path that starts with `$` (docs/sync-config.md "Values").
///
/// ```
/// role        the member "role"        $.a.b      member b of member a      3         element 3 of an array
/// a.b         the member "a.b"         $.a[0]     first element of a        $.a.0     the same
/// $.          the member ""            $."a.b"    the member "a.b"          $[#-1]    the last element
/// ```
///
/// Before `fixed_json_extract` every text is split at dots.
struct JSONPath: Hashable {
    /// One step.
    private enum Step: Hashable {
        /// A member, or an element if the text consists of digits.
        case name(String)
        /// A member whose name stands in double quotes.
        case member(String)
        /// `[n]`: an element.
        case element(Int)
        /// `[#-n]`: an element counted from the end.
        case elementFromEnd(Int)
    }

    private var steps: [Step] = []
    private var findsNothing = false

    /// Reads a path.
    ///
    /// - Returns: `nil` for `NULL`.
    init?(_ key: SQLValue, isSplit: Bool) {
        guard let text = key.text else { return nil }
        let isPath = text.utf8.first == UInt8(ascii: "$")
        guard case .text = key, isSplit || isPath else {
            steps = [.name(text)]
            return
        }
        for (position, piece) in Self.pieces(of: text, hasQuotes: isPath).enumerated() {
            let (name, elements) = Self.parts(of: piece)
            if position == 0, isPath {
                guard name == "$" else {
                    findsNothing = !isSplit
                    continue
                }
            } else if isPath, let member = Self.unquoted(name) {
                steps.append(.member(member))
            } else {
                steps.append(.name(name))
            }
            steps += elements
        }
    }

    /// What the path leads to, or `nil` when something is missing.
    func value(in document: JSONNode) -> JSONNode? {
        guard !findsNothing else { return nil }
        var node = document
        for step in steps {
            guard let found = Self.find(step, in: node) else { return nil }
            node = found
        }
        return node
    }

    private static func find(_ step: Step, in node: JSONNode) -> JSONNode? {
        switch (node, step) {
        case (.object, .name(let name)), (.object, .member(let name)):
            return node[name]
        case (.array(let elements), .name(let name)):
            guard !name.isEmpty, name.utf8.allSatisfy(isDigit), let index = Int(name), index < elements.count else {
                return nil
            }
            return elements[index]
        case (.array(let elements), .element(let index)):
            return index < elements.count ? elements[index] : nil
        case (.array(let elements), .elementFromEnd(let distance)):
            return distance > 0 && distance <= elements.count ? elements[elements.count - distance] : nil
        default:
            return nil
        }
    }

    /// The parts between the dots; a dot between double quotes at the beginning of a part belongs to it.
    private static func pieces(of text: String, hasQuotes: Bool) -> [String] {
        var pieces: [String] = []
        var rest = Substring(text).utf8
        while true {
            var end = rest.startIndex
            if hasQuotes, rest.first == quote, let closing = rest.dropFirst().firstIndex(of: quote) { end = closing }
            end = rest[end...].firstIndex(of: UInt8(ascii: ".")) ?? rest.endIndex
            pieces.append(String(Substring(rest[..<end])))
            guard end < rest.endIndex else { return pieces }
            rest = rest[rest.index(after: end)...]
        }
    }

    /// Splits `a[0][1]` into a name and indexes; brackets that hold no number belong to the name.
    private static func parts(of piece: String) -> (name: String, elements: [Step]) {
        var name = piece
        var elements: [Step] = []
        while name.hasSuffix("]"), let open = name.lastIndex(of: "["), let element = element(name[open...]) {
            elements.insert(element, at: 0)
            name = String(name[..<open])
        }
        return (name, elements)
    }

    /// The element that `[0]` or `[#-1]` means.
    private static func element(_ brackets: Substring) -> Step? {
        let inner = brackets.dropFirst().dropLast()
        let isFromEnd = inner.hasPrefix("#-")
        let digits = isFromEnd ? inner.dropFirst(2) : inner
        guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let number = Int(digits) else { return nil }
        return isFromEnd ? .elementFromEnd(number) : .element(number)
    }

    private static func unquoted(_ name: String) -> String? {
        guard name.utf8.count >= 2, name.utf8.first == quote, name.utf8.last == quote else { return nil }
        return String(name.dropFirst().dropLast())
    }

    private static let quote = UInt8(ascii: "\"")

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

// MARK: - What can never be found

extension JSONPath {
    /// What is wrong with a path that begins with `$` and can never find anything, or finds something else than it seems to.
    ///
    /// - Returns: A sentence and what to write; `nil` when nothing is wrong.
    static func problem(with path: String) -> (message: String, hint: String)? {
        var rest = Substring(path).dropFirst()
        while let delimiter = rest.popFirst() {
            switch delimiter {
            case ".":
                guard let problem = member(&rest) else { continue }
                return (problem, hint(for: path))
            case "[":
                guard let end = rest.firstIndex(of: "]") else {
                    return ("The path “\(path)” has a “[” without “]”.", hint(for: path))
                }
                switch element("[\(rest[..<end])]") {
                case .element: break
                case .elementFromEnd(let distance) where distance > 0: break
                default: return ("“[\(rest[..<end])]” in the path “\(path)” is no element.", hint(for: path))
                }
                rest = rest[end...].dropFirst()
            default:
                return (
                    "In the path “\(path)” a member or an element is missing before “\(delimiter)”.", hint(for: path)
                )
            }
        }
        return nil
    }

    /// Reads the name of a member; the sentence about it when it is none.
    private static func member(_ rest: inout Substring) -> String? {
        if rest.first == "\"" {
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\"") else { return "The name of a member has no second double quote." }
            rest = rest[end...].dropFirst()
            return nil
        }
        let name = rest.prefix { $0 != "." && $0 != "[" }
        rest = rest[name.endIndex...]
        // `$.` alone is the member without a name.
        if name.isEmpty, !rest.isEmpty { return "The name of a member is missing." }
        if name == "*" { return "A path has no wildcards." }
        return name.hasPrefix("'") ? "The name of a member is put in double quotes." : nil
    }

    private static func hint(for path: String) -> String {
        let name = path.dropFirst().filter { !"[]'\".$*".contains($0) }
        let example = name.isEmpty ? "name" : name
        return "Write $.\"\(example)\" for a member, $[0] for the first element, $[#-1] for the last."
    }
}

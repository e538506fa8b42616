/// The right side of `->` and `->>`: a member name, or a path that starts with `$` (docs/sync-config.md "Values").
///
/// ```
/// role        the member "role"        $.a.b      member b of member a      3         element 3 of an array
/// a.b         the member "a.b"         $.a[0]     first element of a        $.a.0     the same
/// ```
///
/// Before `fixed_json_extract` every text is split at dots.
struct JSONPath: Hashable {
    /// One step.
    private enum Step: Hashable {
        /// A member, or an element if the text consists of digits.
        case name(String)
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
    init?(_ key: SQLiteValue, isSplit: Bool) {
        guard let text = key.text else { return nil }
        guard case .text = key, isSplit || text.utf8.first == UInt8(ascii: "$") else {
            steps = [.name(text)]
            return
        }
        let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
        for (position, piece) in pieces.enumerated() {
            let (name, elements) = Self.parts(of: String(piece))
            if position == 0, text.utf8.first == UInt8(ascii: "$") {
                guard name == "$" else {
                    findsNothing = !isSplit
                    continue
                }
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
        case (.object, .name(let name)):
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

    /// Splits `a[0][1]` into a name and indexes; brackets that hold no number belong to the name.
    private static func parts(of piece: String) -> (name: String, elements: [Step]) {
        var name = piece
        var elements: [Step] = []
        while name.hasSuffix("]"), let open = name.lastIndex(of: "[") {
            let inner = name[name.index(after: open)...].dropLast()
            let digits = inner.hasPrefix("#-") ? inner.dropFirst(2) : inner
            guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let number = Int(digits) else { break }
            elements.insert(inner.hasPrefix("#-") ? .elementFromEnd(number) : .element(number), at: 0)
            name = String(name[..<open])
        }
        return (name, elements)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

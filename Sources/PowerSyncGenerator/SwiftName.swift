/// Names of tables, columns, streams and parameters as Swift has them.
///
/// | In SQL | Property | Type |
/// | --- | --- | --- |
/// | `list_id` | `listID` | `ListID` |
/// | `createdAt` | `createdAt` | `CreatedAt` |
/// | `NAME` | `name` | `Name` |
/// | `2nd-try` | `_2ndTry` | `_2ndTry` |
/// | `default` | `` `default` `` | `Default` |
/// | `self` | `self_` | `Self_` |
struct SwiftName: Sendable, Hashable {
    /// The name of a property, function or parameter, without back quotes.
    let member: String
    /// The name of a type.
    let type: String

    /// Makes a name; `nil` when nothing of a name in SQL can be part of a name in Swift.
    ///
    /// Words begin after every character that Swift's names do not have, and after `_`.
    init?(_ sql: String) {
        let isWordPart: (Unicode.Scalar) -> Bool = { $0 != "_" && ($0.properties.isXIDContinue) }
        let words = sql.unicodeScalars.split { !isWordPart($0) }.map { String($0) }
        guard let first = words.first, !first.isEmpty else { return nil }
        let rest = words.dropFirst().map(Self.capitalized).joined()
        member = Self.startable(Self.lowercased(first) + rest)
        type = Self.startable(words.map(Self.capitalized).joined())
    }

    /// The member as it stands in code: words of the language are quoted.
    var quotedMember: String { Self.quoted(member) }

    /// A name as it stands in code.
    static func quoted(_ name: String) -> String {
        keywords.contains(name) ? "`\(name)`" : name
    }

    /// Whether a text is a name that needs no quotes.
    static func isIdentifier(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, first == "_" || first.properties.isXIDStart else { return false }
        return text.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue } && !keywords.contains(text)
            && text != "_" && !unquotable.contains(text)
    }

    private static func lowercased(_ word: String) -> String {
        // `NAME` and `URL` are one word in capitals; of `CreatedAt` only the first letter changes.
        word == word.uppercased() ? word.lowercased() : "\(word.prefix(1).lowercased())\(word.dropFirst())"
    }

    private static func capitalized(_ word: String) -> String {
        let lower = word.lowercased()
        if let initialism = initialisms[lower] { return initialism }
        let isInCapitals = word == word.uppercased() && word.count > 1
        return word.prefix(1).uppercased() + (isInCapitals ? lower : word).dropFirst()
    }

    /// The name with `_` where Swift would not take it for a name of a member.
    private static func startable(_ name: String) -> String {
        if unquotable.contains(name) { return name + "_" }
        return name.unicodeScalars.first?.properties.isXIDStart == true ? name : "_" + name
    }

    private static let initialisms = [
        "id": "ID", "ids": "IDs", "url": "URL", "urls": "URLs", "uuid": "UUID", "http": "HTTP", "json": "JSON",
    ]

    /// Names that mean something else after a dot, even in quotes.
    private static let unquotable: Set<String> = ["self", "Self", "init", "Type", "Protocol"]

    private static let keywords: Set<String> = [
        "Any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
        "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard",
        "if", "import", "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private",
        "protocol", "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]
}

extension String {
    /// The text as a literal of Swift.
    var swiftLiteral: String {
        var literal = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            case _ where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format:
                literal += "\\u{\(String(scalar.value, radix: 16))}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }
}

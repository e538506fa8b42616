import PowerSyncProtocol

/// The rule for a text of a configuration that is a name or a secret.
///
/// A program that fills in a template writes something even where it has no value; such a text must not become a secret that grants access.
package enum TextRule {
    /// A name: of an audience, a key, a role, a host.
    case name
    /// A secret for which there are other rules, or none here, such as the password of a database.
    case secret
    /// A secret that is sent with requests: a client that guesses it has access.
    case token

    /// A secret with fewer characters can be guessed by trying.
    package static let leastCharacters = 8

    /// What templates write for a missing value, in various languages.
    private static let missing: Set<String> = ["null", "undefined", "none", "nil", "<no value>", "nan"]

    /// What is wrong with a text, without the text; `nil` when nothing is.
    package func problem(with text: String) -> String? {
        let trimmed = text.trimmed
        guard !trimmed.isEmpty else { return "is empty; give it a value, or leave it out" }
        if Self.missing.contains(trimmed.lowercased()) {
            return
                "is the text \"\(trimmed)\", which templates write for a missing value; give it a value, or leave it out"
        }
        if Self.isPlaceholder(trimmed) {
            return "is a placeholder and not a value; write the value, or take it from the environment: !env PS_NAME"
        }
        guard case .token = self else { return nil }
        if text.contains(where: { $0.isWhitespace || $0.isNewline }) {
            return "has a space or a line break in it, so that no request can send it"
        }
        guard text.count >= Self.leastCharacters else {
            return """
                has \(text.count.counted("character")) and can be guessed; at least \(Self.leastCharacters) are needed: draw it at random, with \
                openssl rand -hex 32 for example
                """
        }
        return nil
    }

    /// Whether a text is a placeholder that was not filled in: `[HIDDEN_PASSWORD]`, `${PS_TOKEN}`, `{{ token }}`, `<password>`.
    package static func isPlaceholder(_ text: String) -> Bool {
        let marks = [("[", "]"), ("<", ">"), ("{{", "}}"), ("${", "}")]
        return marks.contains { first, last in
            guard text.hasPrefix(first), text.hasSuffix(last) else { return false }
            // A secret that was drawn at random looks otherwise, and so does the address [::1].
            return text.dropFirst(first.count).dropLast(last.count).allSatisfy { character in
                character.isASCII && (character.isLetter || character.isNumber || " _-.".contains(character))
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

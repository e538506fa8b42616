/// Names and values in the text of statements.
///
/// Marks are looked for among Unicode scalars, as the server does: a combining mark makes a character of its own of a quote
/// before it, which is no quote to Swift any more.
enum PostgresText {
    /// A name in double quotes.
    static func identifier(_ name: String) -> String {
        "\"\(escaped(name.unicodeScalars, "\"", with: "\""))\""
    }

    /// A text in single quotes.
    static func literal(_ text: String) -> String {
        "'\(escaped(text.unicodeScalars, "'", with: "'"))'"
    }

    /// An array in its text form.
    static func array(_ texts: [String]) -> String {
        let elements = texts.map { "\"\(escaped($0.unicodeScalars, "\"", "\\", with: "\\"))\"" }
        return "{\(elements.joined(separator: ","))}"
    }

    /// A text with something before each of some marks.
    static func escaped(
        _ text: some Sequence<Unicode.Scalar>,
        _ marks: Unicode.Scalar...,
        with escape: Unicode.Scalar
    ) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text {
            if marks.contains(scalar) { escaped.append(escape) }
            escaped.append(scalar)
        }
        return String(escaped)
    }
}

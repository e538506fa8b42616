/// Text from a file, a database or a server, where it leaves for a terminal or a log: nothing in it may be obeyed, or look like
/// another line.
///
/// Escapes have the form of JSON, `\u001b`, so that a JSON document stays the same document.
package enum TerminalText {
    /// A text in which line breaks stay: several lines of this program.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The text, with escapes for everything else that a terminal obeys or does not show.
    package static func escaped(_ text: String) -> String { escaped(text, keepsLineBreaks: true) }

    /// A text as one line.
    ///
    /// - Parameter text: Any text.
    /// - Returns: As ``escaped(_:)``, with escapes for line breaks, too.
    package static func line(_ text: String) -> String { escaped(text, keepsLineBreaks: false) }

    private static func escaped(_ text: String, keepsLineBreaks: Bool) -> String {
        guard text.unicodeScalars.contains(where: { isEscaped($0, keepsLineBreaks) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if !isEscaped(scalar, keepsLineBreaks) {
                result.unicodeScalars.append(scalar)
            } else if scalar == "\n" {
                result += "\\n"
            } else if scalar == "\r" {
                result += "\\r"
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result
    }

    private static func isEscaped(_ scalar: Unicode.Scalar, _ keepsLineBreaks: Bool) -> Bool {
        switch scalar {
        case "\n": !keepsLineBreaks
        case "\t": false
        // They join letters and emoji.
        case "\u{200C}", "\u{200D}": false
        default: [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }
}

/// Names and texts in statements.
package enum MySQLText {
    /// A name in backticks.
    ///
    /// By scalars, as the server reads it: a backtick with a combining mark is one character, and ends a name all the same.
    package static func identifier(_ name: String) -> String {
        var identifier = "`"
        for scalar in name.unicodeScalars {
            if scalar == "`" { identifier.unicodeScalars.append(scalar) }
            identifier.unicodeScalars.append(scalar)
        }
        identifier.unicodeScalars.append("`")
        return identifier
    }

    /// A text in quotes, under a `sql_mode` without `NO_BACKSLASH_ESCAPES`, as that of our sessions.
    package static func literal(_ text: String) -> String {
        var literal = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": literal += "''"
            case "\\": literal += "\\\\"
            case "\0": literal += "\\0"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        literal.unicodeScalars.append("'")
        return literal
    }
}

/// How names and texts are written in SQL.
package enum SQLText {
    /// A name in double quotes, `"` doubled.
    package static func identifier(_ name: String) -> String {
        quote(name, with: UInt8(ascii: "\""))
    }

    /// A text in single quotes, `'` doubled.
    package static func literal(_ text: String) -> String {
        quote(text, with: UInt8(ascii: "'"))
    }

    // Works on scalars: `"` followed by a combining mark is one `Character`, and must still be doubled.
    private static func quote(_ text: String, with mark: UInt8) -> String {
        var sql = ""
        sql.reserveCapacity(text.utf8.count + 2)
        sql.unicodeScalars.append(Unicode.Scalar(mark))
        if text.utf8.contains(mark) {
            for scalar in text.unicodeScalars {
                if scalar == Unicode.Scalar(mark) {
                    sql.unicodeScalars.append(scalar)
                }
                sql.unicodeScalars.append(scalar)
            }
        } else {
            sql += text
        }
        sql.unicodeScalars.append(Unicode.Scalar(mark))
        return sql
    }
}

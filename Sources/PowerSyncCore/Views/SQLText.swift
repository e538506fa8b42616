/// How names and texts are written in SQL.
enum SQLText {
    /// A name in double quotes, `"` doubled.
    static func identifier(_ name: String) -> String {
        quote(name, with: UInt8(ascii: "\""))
    }

    /// A text in single quotes, `'` doubled.
    static func literal(_ text: String) -> String {
        quote(text, with: UInt8(ascii: "'"))
    }

    /// A statement that was put together from names.
    ///
    /// SQL text ends at a NUL, so a name with one would silently become another name.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `malformedSQL` when there is a NUL.
    static func withoutNUL(_ sql: String) throws -> String {
        guard !sql.utf8.contains(0) else {
            throw LocalDatabaseError(
                .malformedSQL,
                "A name in the schema contains a NUL byte, which SQL text cannot hold: \(sql)"
            )
        }
        return sql
    }

    // Works on bytes: `"` followed by a combining mark is one `Character`, and must still be doubled.
    private static func quote(_ text: String, with mark: UInt8) -> String {
        var utf8: [UInt8] = [mark]
        utf8.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            if byte == mark {
                utf8.append(mark)
            }
            utf8.append(byte)
        }
        utf8.append(mark)
        return String(decoding: utf8, as: UTF8.self)
    }
}

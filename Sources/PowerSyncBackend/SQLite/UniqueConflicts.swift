import PowerSyncSQLite

/// Whether a table resolves conflicts of unique columns by itself.
///
/// `UNIQUE ON CONFLICT REPLACE` deletes the row that has the value, which may belong to somebody else and which no decision was asked
/// about; `IGNORE` leaves the write out without a word. SQLite has no pragma for it, so the text of the `CREATE TABLE` is read:
///
/// ```sql
/// CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE ON CONFLICT REPLACE, name TEXT NOT NULL ON CONFLICT REPLACE DEFAULT '')
/// ```
///
/// What a column does with NULL is the table's own affair, and is left alone.
enum UniqueConflicts {
    /// Whether a clause of the statement resolves conflicts of unique columns.
    ///
    /// - Parameter sql: A `CREATE TABLE` that SQLite has accepted.
    /// - Returns: Whether there is one.
    static func areResolved(by sql: String) -> Bool {
        let words = words(of: sql)
        return words.indices.dropFirst(2).contains { index in
            words[index - 1] == "ON" && words[index] == "CONFLICT" && words[index - 2] != "NULL"
        }
    }

    /// The words of a statement in capitals, and one empty text for everything else that is between two of them.
    private static func words(of sql: String) -> [String] {
        var words: [String] = []
        var rest = SQLText.skippingBlanks(sql[...])
        while let first = rest.unicodeScalars.first {
            let word = rest.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
            if !word.isEmpty {
                words.append(word.uppercased())
                rest = rest[word.endIndex...]
            } else {
                words.append("")
                rest = afterToken(rest, beginningWith: first)
            }
            rest = SQLText.skippingBlanks(rest)
        }
        return words
    }

    /// What follows a text or a name in quotes, or another character.
    private static func afterToken(_ rest: Substring, beginningWith first: Unicode.Scalar) -> Substring {
        let content = rest.unicodeScalars.dropFirst()
        guard "'\"`[".unicodeScalars.contains(first) else { return Substring(content) }
        let end: Unicode.Scalar = first == "[" ? "]" : first
        // A doubled quote begins the next text, which does no harm.
        return Substring(content.drop { $0 != end }.dropFirst())
    }
}

/// The statements of a text.
extension SQLText {
    /// The statements of a text, without the semicolons between them and what is only white space and comments.
    ///
    /// A trigger is one statement, whatever is in its body.
    package static func statements(_ sql: String) -> [Substring] {
        var statements: [Substring] = []
        var start: Substring.Index?
        var end = sql.startIndex
        var words: [SQLTokens.Token] = []
        // `;` inside of a trigger ends a statement of its body, and `; END` the trigger.
        var isInTrigger = false
        var isAfterSemicolon = false
        for token in SQLTokens(sql) {
            if isInTrigger, isAfterSemicolon, token.isKeyword("END") { isInTrigger = false }
            isAfterSemicolon = token.isSymbol(";")
            if isAfterSemicolon, !isInTrigger {
                if let start { statements.append(sql[start..<end]) }
                start = nil
                words = []
                continue
            }
            if start == nil { start = token.source.startIndex }
            end = token.source.endIndex
            if words.count < 3, !isInTrigger {
                words.append(token)
                // Elsewhere, TRIGGER may be a name.
                let isTemporary = words.count == 3 && (words[1].isKeyword("TEMP") || words[1].isKeyword("TEMPORARY"))
                if words[0].isKeyword("CREATE"), token.isKeyword("TRIGGER"), words.count == 2 || isTemporary {
                    isInTrigger = true
                }
            }
        }
        if let start { statements.append(sql[start..<end]) }
        return statements
    }

    /// Whether a text is to be run all or nothing: one statement that changes rows, or several of which none is about a transaction or
    /// works outside of one only.
    package static func isAllOrNothing(_ sql: String) -> Bool {
        guard sql.utf8.contains(UInt8(ascii: ";")) else { return changesRows(sql) }
        let statements = statements(sql)
        guard statements.count > 1 else { return changesRows(sql) }
        return statements.allSatisfy { statement in
            var tokens = SQLTokens(String(statement))
            guard let first = tokens.next() else { return true }
            return ![
                "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "VACUUM", "ATTACH", "DETACH",
            ]
            .contains(first.source.uppercased())
        }
    }
}

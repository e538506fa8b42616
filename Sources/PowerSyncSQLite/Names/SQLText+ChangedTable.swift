extension SQLText {
    /// The table or view whose rows a statement changes.
    ///
    /// - Parameter sql: One statement.
    /// - Returns: The name, without its schema and its quotes; `nil` when the statement is no `INSERT`, `REPLACE`, `UPDATE` or
    ///   `DELETE`.
    package static func changedTable(_ sql: String) -> String? {
        var tokens = SQLTokens(sql)
        guard var token = tokens.first(after: { $0.isSymbol(";") }) else { return nil }
        if token.isKeyword("WITH") {
            // Common table expressions are in parentheses.
            var depth = 0
            repeat {
                guard let next = tokens.next() else { return nil }
                if next.isSymbol("(") { depth += 1 }
                if next.isSymbol(")") { depth -= 1 }
                token = next
            } while depth > 0 || !isVerb(token)
        }
        guard isVerb(token), !token.isKeyword("SELECT"), !token.isKeyword("VALUES") else { return nil }
        var next = tokens.next()
        if next?.isKeyword("OR") == true {
            _ = tokens.next()
            next = tokens.next()
        }
        if next?.isKeyword("INTO") == true || next?.isKeyword("FROM") == true { next = tokens.next() }
        let name = next?.name
        guard tokens.next()?.isSymbol(".") == true else { return name }
        return tokens.next()?.name
    }

    private static func isVerb(_ token: SQLTokens.Token) -> Bool {
        token.isKeyword("INSERT") || token.isKeyword("REPLACE") || token.isKeyword("UPDATE")
            || token.isKeyword("DELETE") || token.isKeyword("SELECT") || token.isKeyword("VALUES")
    }
}

extension SQLTokens {
    /// The first element for which something is not so.
    fileprivate mutating func first(after isSkipped: (Token) -> Bool) -> Token? {
        while let token = next() {
            if !isSkipped(token) { return token }
        }
        return nil
    }
}

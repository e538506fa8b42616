/// Columns, tables and names.
extension SQLParser {
    /// One entry of the column list.
    mutating func column() throws(SQLProblem) -> SQLColumn {
        let start = next.range.lowerBound
        let isInside = isInColumns
        isInColumns = true
        defer { isInColumns = isInside }
        if take(.symbol("*")) { return SQLColumn(kind: .star(table: nil), range: start..<end) }
        if let table = name(next), second.kind == .symbol("."), token(after: 2).kind == .symbol("*") {
            advance(by: 3)
            return SQLColumn(kind: .star(table: table), range: start..<end)
        }
        let expression = try expression()
        let alias: SQLName?
        if take(.word("as")) {
            alias = try anyName("a column name after AS")
        } else {
            alias = bareAlias()
        }
        let range = start..<end
        guard endsPart else { throw unexpected(expected: "“,” or FROM") }
        return SQLColumn(kind: .expression(expression, alias: alias), range: range)
    }

    /// Whether a column can end here.
    private var endsPart: Bool {
        switch next.kind {
        case .end, .symbol(","), .symbol(")"), .symbol(";"): true
        case .word(let word): SQLVocabulary.clauses.contains(word)
        default: false
        }
    }

    /// One item after `FROM`.
    mutating func source() throws(SQLProblem) -> SQLSource {
        let start = next.range.lowerBound
        if next.kind == .symbol("("), second.kind == .word("select") { return try derivedTable(from: start) }
        if case .word(let word) = next.kind, word == "lateral" || word == "only" {
            throw problem(.sqlUnsupportedClause, "\(word.uppercased()) is not supported in FROM.")
        }
        var parts = [try requiredName("a table name")]
        while take(.symbol(".")) { parts.append(try anyName("a table name")) }
        let range = start..<end
        if next.kind == .symbol("(") { return try function(parts, from: start) }
        guard parts.count <= 2 else {
            throw SQLProblem(
                code: .sqlSyntax,
                message: "A table is written as schema.table.",
                hint: "To name the connection, too, write \"connection.schema\".table.",
                range: range
            )
        }
        var source = SQLSource(
            kind: .table(schema: parts.count == 2 ? parts[0] : nil, name: parts[parts.count - 1]),
            range: range
        )
        source.alias = try tableAlias()
        source.range = start..<end
        try refuseColumnList()
        return source
    }

    private mutating func derivedTable(from start: Int) throws(SQLProblem) -> SQLSource {
        advance()
        let select = try nested { parser throws(SQLProblem) in parser.select() }
        try expect(.symbol(")"), "“)” after the subquery")
        guard let alias = try tableAlias() else {
            throw unexpected(expected: "a name for the subquery", hint: "Write “(SELECT …) AS name”.")
        }
        var columns: [SQLName]?
        if take(.symbol("(")) {
            var names = [try anyName("a column name")]
            while take(.symbol(",")) { names.append(try anyName("a column name")) }
            try expect(.symbol(")"), "“)” after the column names")
            columns = names
        }
        return SQLSource(kind: .query(select, columns: columns), alias: alias, range: start..<end)
    }

    private mutating func function(_ parts: [SQLName], from start: Int) throws(SQLProblem) -> SQLSource {
        guard parts.count == 1 else {
            throw SQLProblem(
                code: .sqlUnsupportedClause,
                message: "A function in FROM has no schema.",
                range: parts[0].range
            )
        }
        let arguments = try arguments(of: parts[0])
        if next.kind == .word("with"), second.kind == .word("ordinality") {
            throw problem(.sqlUnsupportedClause, "WITH ORDINALITY is not supported.", hint: "json_each has “key”.")
        }
        let alias = try tableAlias()
        let range = start..<end
        try refuseColumnList()
        return SQLSource(kind: .function(parts[0], arguments: arguments), alias: alias, range: range)
    }

    private mutating func tableAlias() throws(SQLProblem) -> SQLName? {
        take(.word("as")) ? try requiredName("an alias after AS") : bareAlias()
    }

    private func refuseColumnList() throws(SQLProblem) {
        guard next.kind == .symbol("(") else { return }
        throw problem(
            .sqlUnsupportedClause,
            "Only a subquery can have a list of column names after its alias.",
            hint: "Rename columns with AS."
        )
    }
}

// MARK: - Names

extension SQLParser {
    /// The name that a token is, unless it is a reserved word.
    func name(_ token: SQLToken) -> SQLName? {
        switch token.kind {
        case .word(let word) where !SQLVocabulary.reserved.contains(word):
            SQLName(text: word, isQuoted: false, isFolded: token.isFolded, range: token.range)
        case .quotedName(let name):
            SQLName(text: name, isQuoted: true, range: token.range)
        default:
            nil
        }
    }

    /// Reads a name.
    mutating func requiredName(_ what: String) throws(SQLProblem) -> SQLName {
        guard let name = name(next) else {
            if case .word(let word) = next.kind {
                throw problem(
                    .sqlSyntax,
                    "“\(word)” is a reserved word where \(what) is expected.",
                    hint: "To use it as a name, write \"\(word)\"."
                )
            }
            throw unexpected(expected: what)
        }
        advance()
        return name
    }

    /// Reads a name where reserved words are names, too: after a dot and after `AS`.
    mutating func anyName(_ what: String) throws(SQLProblem) -> SQLName {
        if case .word(let word) = next.kind {
            defer { advance() }
            return SQLName(text: word, isQuoted: false, isFolded: next.isFolded, range: next.range)
        }
        return try requiredName(what)
    }

    /// Reads an alias without `AS` if one comes next.
    mutating func bareAlias() -> SQLName? {
        guard let alias = name(next), alias.isQuoted || !SQLVocabulary.noBareAlias.contains(alias.text) else {
            return nil
        }
        advance()
        return alias
    }
}
